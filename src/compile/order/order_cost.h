#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "compile/order/order_graph.h"

namespace plimsoll::compile {

// What running one node does to the live bytes.
struct StepCost {
  int64_t rise = 0;   // while it runs
  int64_t delta = 0;  // once it has run
};

// `is_last(storage)` tells whether the node is the last to touch the storage, in the whole graph.
template <typename IsLast>
StepCost CostOfStep(const OrderGraph& graph, int32_t node, IsLast is_last) {
  const int64_t written = graph.written(node);
  StepCost cost{.rise = written + graph.workspace(node), .delta = written};
  for (const OrderGraph::Touch& touch : graph.touches(node)) {
    if (is_last(touch.storage)) cost.delta -= graph.storage(touch.storage).total;
  }
  int32_t served = -1;
  std::vector<int32_t> taken;  // filled only where several outputs compete
  for (const OrderGraph::Takeover& takeover : graph.takeovers(node)) {
    if (takeover.output == served || graph.storage(takeover.storage).total != takeover.bytes ||
        !is_last(takeover.storage) || std::ranges::find(taken, takeover.storage) != taken.end()) {
      continue;
    }
    cost.rise -= takeover.bytes;
    served = takeover.output;
    if (graph.outputs_compete(node)) taken.push_back(takeover.storage);
  }
  return cost;
}

// By storage: nodes that touch it, and one more where nodes behind the graph do.
std::vector<int32_t> TouchesLeft(const OrderGraph& graph);

// Bytes live while each node of the order runs; the largest is the peak. Linear.
std::vector<int64_t> Waterline(const OrderGraph& graph, std::span<const int32_t> order);

}  // namespace plimsoll::compile
