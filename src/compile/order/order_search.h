#pragma once

#include <atomic>
#include <cstdint>

#include "compile/order/schedule.h"

namespace plimsoll::compile {

// How long to search, in steps: one look at one node that could run next. Graphs of more than
// `kNodes` nodes get as many more. A search with more steps does all that one with fewer does, and
// then goes on.
struct OrderEffort {
  static constexpr int64_t kDefault = 3'000'000;
  static constexpr int64_t kMemoryPriority = 10 * kDefault;
  static constexpr int64_t kNodes = 30'000;

  int64_t steps = kDefault;
  const std::atomic<bool>* stop = nullptr;  // true: be content with what is found by then

  bool Stopped() const { return stop != nullptr && stop->load(std::memory_order_relaxed); }
};

struct FoundOrder {
  Order order;
  // No order has a lower peak: proven. 0 where nothing is known. When it is the peak of `order`,
  // no order is better.
  int64_t lower_bound = 0;
};

// Looks for an order of execution with a low peak (`Walk::peak`). Never above that of the file's
// order, and never above what less effort finds. Parts that can be ordered alone are; those that do
// the same work are searched once. Orders that need no search are tried whatever the effort. Same
// input, same answer, on any machine. Plain function: no state, any thread. Needs a legal file
// order, and sizes whose sum fits in 63 bits; where it does not fit, the file's order comes back.
FoundOrder FindOrder(const Schedule& schedule, const OrderEffort& effort = {});

// The order alone.
Order SearchOrder(const Schedule& schedule, const OrderEffort& effort = {});

}  // namespace plimsoll::compile
