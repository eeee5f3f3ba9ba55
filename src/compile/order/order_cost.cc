#include "compile/order/order_cost.h"

namespace plimsoll::compile {

std::vector<int32_t> TouchesLeft(const OrderGraph& graph) {
  std::vector<int32_t> touches(static_cast<size_t>(graph.storages()));
  for (int32_t storage = 0; storage < graph.storages(); ++storage) {
    touches[storage] = static_cast<int32_t>(graph.users(storage).size());
    if (graph.storage(storage).kept) ++touches[storage];
  }
  return touches;
}

std::vector<int64_t> Waterline(const OrderGraph& graph, std::span<const int32_t> order) {
  std::vector<int32_t> touches_left = TouchesLeft(graph);
  std::vector<int64_t> line;
  line.reserve(order.size());
  int64_t live = graph.live_before();
  for (const int32_t node : order) {
    const StepCost cost =
        CostOfStep(graph, node, [&](int32_t storage) { return touches_left[storage] == 1; });
    line.push_back(live + cost.rise);
    live += cost.delta;
    for (const OrderGraph::Touch& touch : graph.touches(node)) --touches_left[touch.storage];
  }
  return line;
}

}  // namespace plimsoll::compile
