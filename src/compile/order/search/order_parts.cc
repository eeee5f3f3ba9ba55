#include "compile/order/search/order_parts.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace plimsoll::compile {
namespace {

// By node: the first node of what it is connected with.
class Components {
 public:
  explicit Components(const OrderGraph& graph) : parent_(static_cast<size_t>(graph.size())) {
    std::iota(parent_.begin(), parent_.end(), 0);
    for (int32_t node = 0; node < graph.size(); ++node) {
      for (const int32_t predecessor : graph.predecessors(node)) Unite(predecessor, node);
    }
    for (int32_t storage = 0; storage < graph.storages(); ++storage) {
      for (const int32_t user : graph.users(storage)) Unite(graph.users(storage).front(), user);
    }
  }

  int32_t FirstOf(int32_t node) {
    while (parent_[node] != node) node = parent_[node] = parent_[parent_[node]];
    return node;
  }

 private:
  void Unite(int32_t one, int32_t other) {
    one = FirstOf(one);
    other = FirstOf(other);
    parent_[std::max(one, other)] = std::min(one, other);
  }

  std::vector<int32_t> parent_;
};

// Ends of parts within order[begin, end), a component.
class Narrows {
 public:
  Narrows(const OrderGraph& graph, const Order& order) : graph_(graph), order_(order) {
    place_.resize(order.size());
    for (size_t i = 0; i < order.size(); ++i) place_[order[i]] = static_cast<int32_t>(i);
    lowest_.resize(order.size() + 1);
  }

  void Split(int32_t begin, int32_t end, std::vector<OrderPart>& parts) {
    // From the back: the least of the last places that those behind wait for.
    lowest_[end] = std::numeric_limits<int32_t>::max();
    for (int32_t place = end - 1; place > begin; --place) {
      lowest_[place] = std::min(lowest_[place + 1], LastBefore(order_[place]));
    }
    int32_t open = begin;   // by when everybody before the place has somebody waiting
    int32_t first = begin;  // of the part
    for (int32_t place = begin; place < end; ++place) {
      const bool all_before = open <= place;
      const bool all_behind = place + 1 == end || lowest_[place + 1] >= place;
      if (place + 1 == end || (all_before && all_behind)) {
        parts.push_back({first, place + 1});
        first = place + 1;
      }
      open = std::max(open, FirstBehind(order_[place]));
    }
  }

 private:
  int32_t LastBefore(int32_t node) const {
    int32_t last = -1;
    for (const int32_t predecessor : graph_.predecessors(node)) {
      last = std::max(last, place_[predecessor]);
    }
    return last;
  }
  int32_t FirstBehind(int32_t node) const {
    int32_t first = std::numeric_limits<int32_t>::max();
    for (const int32_t successor : graph_.successors(node)) {
      first = std::min(first, place_[successor]);
    }
    return first;
  }

  const OrderGraph& graph_;
  const Order& order_;
  std::vector<int32_t> place_;   // by node
  std::vector<int32_t> lowest_;  // by place
};

}  // namespace

OrderParts SplitIntoParts(const OrderGraph& graph) {
  OrderParts result;
  Components components(graph);
  std::vector<int32_t> component(static_cast<size_t>(graph.size()));
  for (int32_t node = 0; node < graph.size(); ++node) component[node] = components.FirstOf(node);
  result.order.resize(component.size());
  std::iota(result.order.begin(), result.order.end(), 0);
  std::ranges::stable_sort(result.order, {}, [&](int32_t node) { return component[node]; });
  Narrows narrows(graph, result.order);
  for (int32_t begin = 0; begin < graph.size();) {
    int32_t end = begin;
    while (end < graph.size() && component[result.order[end]] == component[result.order[begin]]) {
      ++end;
    }
    narrows.Split(begin, end, result.parts);
    begin = end;
  }
  return result;
}

}  // namespace plimsoll::compile
