#include "cli/reports/policy_report.h"

#include <algorithm>
#include <optional>

#include "cli/reports/text_table.h"
#include "plimsoll/base/text.h"

namespace plimsoll::cli {
namespace {

using PolicyRow = PolicyReport::Row;

// The model with the highest one.
Bytes HighestWaterline(const PlanReports& plans) {
  Bytes most;
  for (const PlanReport& model : plans.models) most = std::max(most, model.peak);
  return most;
}

// What the value that takes least takes; nothing where no value tells.
std::optional<Bytes> LeastOf(const std::vector<PolicyRow>& rows) {
  std::optional<Bytes> least;
  for (const PolicyRow& row : rows) {
    if (!row.plans.memory) continue;
    least = std::min(least.value_or(row.plans.total()), row.plans.total());
  }
  return least;
}

std::string Verdict(const PlanReports& plans, std::optional<Bytes> least) {
  std::vector<std::string> words;
  if (plans.total() == least) words.emplace_back("least");
  if (plans.limit) words.emplace_back(plans.total() <= *plans.limit ? "fits" : "does not fit");
  return Join(words, ", ");
}

}  // namespace

std::string PolicyText(const PolicyReport& report) {
  std::vector<std::vector<std::string>> rows = {{report.option, "", "waterline", "weights",
                                                 "feature maps", "variables", "granularity",
                                                 "from the device"}};
  const std::optional<Bytes> least = LeastOf(report.rows);
  std::string refused;
  for (const PolicyRow& row : report.rows) {
    if (!row.refused.empty()) {
      refused += StrCat("  ", row.value, ": ", row.refused, "\n");
      continue;
    }
    const std::string waterline = FormatBytes(HighestWaterline(row.plans));
    if (!row.plans.memory) {
      rows.push_back({row.value, "only a run tells", waterline, "", "", "", "", ""});
      continue;
    }
    const engine::DeviceBytes& device = row.plans.memory->device;
    rows.push_back({row.value, Verdict(row.plans, least), waterline, FormatBytes(device.weights),
                    FormatBytes(device.feature_maps), FormatBytes(device.variables),
                    FormatBytes(device.granularity), FormatBytes(device.total())});
  }
  return TextTable(rows, 2) + refused;
}

Json PolicyJson(const PolicyReport& report) {
  Json json{{"option", report.option}, {"values", Json::array()}};
  for (const PolicyRow& row : report.rows) {
    Json value{{"value", row.value}};
    if (row.refused.empty()) {
      value.update(PlanJson(row.plans));
    } else {
      value["refused"] = row.refused;
    }
    json["values"].push_back(std::move(value));
  }
  return json;
}

}  // namespace plimsoll::cli
