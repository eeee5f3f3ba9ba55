#include "compile/order/order_modes.h"

#include <algorithm>
#include <cassert>
#include <deque>
#include <functional>
#include <queue>

namespace plimsoll::compile {
namespace {

// Runs what may run until nothing is left. `Line` decides who is next among those that wait in it.
template <typename Line>
Order RunFrom(const OrderGraph& graph, Line line) {
  std::vector<size_t> waits(static_cast<size_t>(graph.size()));
  std::vector<int32_t> ready;
  for (int32_t node = 0; node < graph.size(); ++node) {
    waits[node] = graph.predecessors(node).size();
    if (waits[node] == 0) ready.push_back(node);
  }
  line.Add(ready);
  Order order;
  while (!line.empty()) {
    const int32_t node = line.Take();
    order.push_back(node);
    ready.clear();
    for (const int32_t successor : graph.successors(node)) {
      if (--waits[successor] == 0) ready.push_back(successor);
    }
    line.Add(ready);
  }
  return order;
}

struct Queue : std::deque<int32_t> {
  void Add(const std::vector<int32_t>& ready) { insert(end(), ready.begin(), ready.end()); }
  int32_t Take() {
    const int32_t node = front();
    pop_front();
    return node;
  }
};

struct Stack : std::vector<int32_t> {
  void Add(const std::vector<int32_t>& ready) { insert(end(), ready.rbegin(), ready.rend()); }
  int32_t Take() {
    const int32_t node = back();
    pop_back();
    return node;
  }
};

struct Earliest : std::priority_queue<int32_t, std::vector<int32_t>, std::greater<>> {
  void Add(const std::vector<int32_t>& ready) {
    for (const int32_t node : ready) push(node);
  }
  int32_t Take() {
    const int32_t node = top();
    pop();
    return node;
  }
};

Order FromTheEnds(const OrderGraph& graph) {
  Order order;
  std::vector<bool> seen(static_cast<size_t>(graph.size()), false);
  struct Visit {
    int32_t node;
    size_t next;  // of its predecessors
  };
  std::vector<Visit> path;
  for (int32_t last = 0; last < graph.size(); ++last) {
    if (!graph.successors(last).empty()) continue;
    path.push_back({last, 0});
    while (!path.empty()) {
      const auto [node, next] = path.back();
      if (next == graph.predecessors(node).size()) {
        order.push_back(node);
        path.pop_back();
        continue;
      }
      ++path.back().next;
      const int32_t predecessor = graph.predecessors(node)[next];
      if (seen[predecessor]) continue;
      seen[predecessor] = true;
      path.push_back({predecessor, 0});
    }
  }
  return order;
}

}  // namespace

Order TopologicalOrder(const OrderGraph& graph, OrderMode mode) {
  Order order;
  switch (mode) {
    case OrderMode::kBreadthFirst:
      order = RunFrom(graph, Queue());
      break;
    case OrderMode::kDepthFirst:
      order = RunFrom(graph, Stack());
      break;
    case OrderMode::kReverseDepthFirst:
      order = FromTheEnds(graph);
      break;
    case OrderMode::kStable:
      order = RunFrom(graph, Earliest());
      break;
  }
  assert(order.size() == static_cast<size_t>(graph.size()));
  return order;
}

Order TopologicalOrder(const Schedule& schedule, OrderMode mode) {
  return TopologicalOrder(OrderGraph(schedule), mode);
}

}  // namespace plimsoll::compile
