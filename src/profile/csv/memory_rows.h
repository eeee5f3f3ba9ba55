#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "profile/record/event.h"

namespace plimsoll::profile {

// Bytes that were handed out, from their allocation to their release, as far as the window shows.
struct MemoryRow {
  struct Moment {
    int64_t time = 0;  // nanoseconds
    MemoryTotals totals;
  };
  NameId name = 0;    // known from the allocation alone
  int64_t bytes = 0;  // handed out; never negative here
  int device = 0;
  std::optional<Moment> allocation;  // nothing: before the window
  std::optional<Moment> release;     // nothing: after the window
};

// The operators' memory, in the order in which it was first seen. Totals are those of the device's
// feature maps just after the event; they begin with what was held when the window was opened.
// Near-linear.
std::vector<MemoryRow> OperatorRows(const Recording& recording);

// Tells of each event that changes memory, with the totals of its component just after it.
void ReplayTotals(const Recording& recording,
                  const std::function<void(const Event& event, const MemoryTotals& totals)>& told);

}  // namespace plimsoll::profile
