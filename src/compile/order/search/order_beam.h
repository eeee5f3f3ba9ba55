#pragma once

#include <atomic>
#include <cstdint>

#include "compile/order/order_graph.h"

namespace plimsoll::compile {

struct BeamLimits {
  int32_t width = 1;                        // sets of the same size that are followed
  int64_t bound = 0;                        // only orders with a peak below this are of interest
  int64_t steps = 0;                        // candidates looked at, after which it gives up
  const std::atomic<bool>* stop = nullptr;  // true: it gives up at once

  bool Stopped() const { return stop != nullptr && stop->load(std::memory_order_relaxed); }
};

struct BeamAnswer {
  Order order;              // empty when none below the bound was found
  int64_t peak = 0;         // of that order
  int64_t steps = 0;        // taken
  bool exhaustive = false;  // no set was dropped: the answer is the best there is
};

// Follows the most promising sets of nodes that may have run, from the empty set to all nodes, one
// node at a time. Sets of one size compete: lower peak so far, then fewer live bytes. A node that
// leaves no more bytes live and does not raise the peak runs at once, alone. Time and memory grow
// with width times nodes; same input, same answer.
BeamAnswer SearchBeam(const OrderGraph& graph, const BeamLimits& limits);

}  // namespace plimsoll::compile
