#pragma once

#include <cstdint>
#include <vector>

#include "compile/order/order_graph.h"

namespace plimsoll::compile {

// The best moment to run one node, whatever that costs the others.
struct CheapestMoment {
  int64_t bytes = 0;         // live while the node runs; no order has fewer at that node
  std::vector<bool> before;  // by node: has run when the node runs
  int64_t steps = 0;         // arcs looked at
  bool found = false;        // false when the steps ran out first; then nothing else is set
};

// Finds it as a minimum cut: a storage costs its bytes when a writer is on the near side and a node
// that still touches it on the far side. So the waterline at the peak has a lower bound that is
// often equal to it, and where it is not, the cut says what to run earlier and what later.
CheapestMoment FindCheapestMoment(const OrderGraph& graph, int32_t node, int64_t step_limit);

}  // namespace plimsoll::compile
