#pragma once

#include <cstdint>

#include "compile/schedule.h"

namespace plimsoll::compile {

// How long to search, in steps: one look at one node that could run next. A search with more steps
// does all that one with fewer does, and then goes on.
struct OrderEffort {
  static constexpr int64_t kDefault = 3'000'000;
  static constexpr int64_t kMemoryPriority = 10 * kDefault;

  int64_t steps = kDefault;
};

// Looks for an order of execution with a low peak (`Walk::peak`). Never above that of the file's
// order, and never above what less effort finds. Same input, same answer, on any machine. Plain
// function: no state, any thread. Needs a legal file order, and sizes whose sum fits in 63 bits;
// where it does not fit, the file's order comes back.
Order SearchOrder(const Schedule& schedule, const OrderEffort& effort = {});

}  // namespace plimsoll::compile
