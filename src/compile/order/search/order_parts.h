#pragma once

#include <cstdint>
#include <vector>

#include "compile/order/order_graph.h"

namespace plimsoll::compile {

// A stretch of an order.
struct OrderPart {
  int32_t begin = 0;
  int32_t end = 0;
};

struct OrderParts {
  Order order;
  std::vector<OrderPart> parts;  // one behind the other, all of the order
};

// Parts that can be ordered alone: a lowest peak of the whole is made of a lowest peak of each.
//
// What does not touch, directly or through others, runs one behind the other: bytes of one would
// only lie next to those of the other. Inside, a node that all others are either before or behind
// ends a part. The nodes of a part keep the file's order, and the whole is never above it. The
// graph must be whole: made from a schedule. Linear.
OrderParts SplitIntoParts(const OrderGraph& graph);

}  // namespace plimsoll::compile
