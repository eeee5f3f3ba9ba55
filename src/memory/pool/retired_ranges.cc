#include "memory/pool/retired_ranges.h"

#include <algorithm>

#include "memory/release_failure.h"

namespace plimsoll::memory {

RetiredRanges::~RetiredRanges() {
  while (!waiting_.empty()) Drop(waiting_.front().at);
}

Result<bool> RetiredRanges::Passed(Waiting& range, bool waited) {
  if (range.passed) return true;
  if (!range.mark.valid() && !waited) {
    PLIMSOLL_ASSIGN(range.mark, device_.Mark());
  }
  if (range.mark.valid()) {
    PLIMSOLL_ASSIGN(range.passed, device_.Passed(range.mark));
    if (range.passed) range.mark = device::EventId();
  }
  range.passed |= waited;
  return range.passed;
}

Status RetiredRanges::Undo(bool waited, const std::function<void(device::Address)>& undone) {
  while (!waiting_.empty()) {
    Waiting& range = waiting_.front();
    PLIMSOLL_ASSIGN(const bool passed, Passed(range, waited));
    if (!passed) return Status();
    PLIMSOLL_TRY(device_.Unstitch(range.at));
    undone(range.at);
    waiting_.pop_front();
  }
  return Status();
}

void RetiredRanges::Drop(device::Address at) {
  const auto found = std::find_if(waiting_.begin(), waiting_.end(),
                                  [&](const Waiting& one) { return one.at == at; });
  if (found == waiting_.end()) return;
  if (found->mark.valid()) LogReleaseFailure(device_.Forget(found->mark));
  waiting_.erase(found);
}

}  // namespace plimsoll::memory
