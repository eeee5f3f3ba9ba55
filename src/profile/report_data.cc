#include "profile/report_data.h"

#include <algorithm>

namespace plimsoll::profile {

std::string NameAndVersion() { return "plimsoll " PLIMSOLL_VERSION; }

int64_t ReportPlan::peak_step() const {
  if (live.empty()) return -1;
  return std::max_element(live.begin(), live.end()) - live.begin();
}

std::vector<ReportOwner> OwnersAt(const ReportPlan& plan, int64_t step) {
  std::vector<ReportOwner> owners;
  for (const ReportTensor& tensor : plan.tensors) {
    if (tensor.region != plan.main_region || step < tensor.begin || step >= tensor.end) continue;
    const bool made = tensor.producer >= 0;
    owners.push_back({tensor.name,
                      made ? plan.steps[static_cast<size_t>(tensor.producer)].name : std::string(),
                      tensor.bytes});
  }
  std::stable_sort(owners.begin(), owners.end(),
                   [](const ReportOwner& a, const ReportOwner& b) { return a.bytes > b.bytes; });
  return owners;
}

}  // namespace plimsoll::profile
