#pragma once

#include <cstdint>

#include "compile/order/order_graph.h"

namespace plimsoll::compile {

// A peak that no order of the nodes can go below: while a node runs, all bytes are live that were
// written by what must run before it and are touched by what must run behind it. Time grows with
// nodes times edges over the bits of a word; memory with the nodes.
int64_t LowestPeak(const OrderGraph& graph);

}  // namespace plimsoll::compile
