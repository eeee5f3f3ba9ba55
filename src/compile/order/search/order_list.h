#pragma once

#include <cstdint>
#include <span>

#include "compile/order/order_graph.h"

namespace plimsoll::compile {

// How a list schedule chooses among the nodes that may run.
enum class ListChoice {
  kRank,       // the earliest in the given order
  kLeastLive,  // the one that leaves the fewest bytes live, then the earliest in the given order
};

// Builds an order from the front. A node that leaves no more bytes live than there are, and does
// not rise above `bound` meanwhile, runs at once: no order that stays within `bound` loses by that.
// Otherwise `choice` decides. So with kRank the peak is at most `bound` when the given order's is.
Order ListForward(const OrderGraph& graph, std::span<const int32_t> order, int64_t bound,
                  ListChoice choice);

// The same from the back: a node without which no more bytes are live moves to the end of what is
// left, otherwise the last of the given order does.
Order ListBackward(const OrderGraph& graph, std::span<const int32_t> order, int64_t bound);

}  // namespace plimsoll::compile
