#pragma once

#include "compile/order/order_graph.h"
#include "compile/order/schedule.h"

namespace plimsoll::compile {

// The orders that need no search, numbered as the option that chooses them numbers them. Ties
// follow the file.
enum class OrderMode {
  kBreadthFirst = 0,       // a node queues up once all that it waits for has run
  kDepthFirst = 1,         // what has just become possible comes next
  kReverseDepthFirst = 2,  // from each end back to its inputs: nothing runs before it is needed
  kStable = 3,             // the file's order, where that is legal
};

// The nodes must not wait for one another in a circle (asserted). Linear, but for kStable, which
// also sorts.
Order TopologicalOrder(const OrderGraph& graph, OrderMode mode);
Order TopologicalOrder(const Schedule& schedule, OrderMode mode);

}  // namespace plimsoll::compile
