#include "compile/order/search/order_line.h"

#include <algorithm>
#include <bit>

#include "compile/order/order_cost.h"

namespace plimsoll::compile {

OrderLine::OrderLine(const OrderGraph& graph, Order order)
    : graph_(&graph),
      order_(std::move(order)),
      place_(order_.size()),
      last_(static_cast<size_t>(graph.storages())),
      live_(order_.size() + 1, graph.live_before()) {
  if (order_.empty()) return;
  for (int32_t place = 0; place < graph.size(); ++place) {
    place_[order_[place]] = place;
    for (const OrderGraph::Touch& touch : graph.touches(order_[place])) {
      last_[touch.storage] = graph.storage(touch.storage).kept ? graph.size() : place;
    }
  }
  leaves_ = static_cast<int32_t>(std::bit_ceil(order_.size()));
  tree_.resize(2 * static_cast<size_t>(leaves_));
  Measure(0, graph.size());
}

int32_t OrderLine::peak_place() const {
  int32_t at = 1;
  while (at < leaves_) at = tree_[2 * at] == tree_[at] ? 2 * at : 2 * at + 1;
  return at - leaves_;
}

int64_t OrderLine::PlacesAtPeak() const {
  const auto first = tree_.begin() + leaves_;
  return std::count(first, first + graph_->size(), peak());
}

int64_t OrderLine::PeakWithin(int32_t begin, int32_t end) const {
  return *std::max_element(tree_.begin() + leaves_ + begin, tree_.begin() + leaves_ + end);
}

void OrderLine::Replace(int32_t begin, std::span<const int32_t> nodes) {
  const auto end = begin + static_cast<int32_t>(nodes.size());
  for (int32_t place = begin; place < end; ++place) {
    const int32_t node = nodes[place - begin];
    order_[place] = node;
    place_[node] = place;
    // A storage that ended inside still ends inside: at the last place that touches it.
    for (const OrderGraph::Touch& touch : graph_->touches(node)) {
      if (last_[touch.storage] < end) last_[touch.storage] = place;
    }
  }
  Measure(begin, end);
}

void OrderLine::Measure(int32_t begin, int32_t end) {
  for (int32_t place = begin; place < end; ++place) {
    const StepCost cost = CostOfStep(*graph_, order_[place],
                                     [&](int32_t storage) { return last_[storage] == place; });
    tree_[leaves_ + place] = live_[place] + cost.rise;
    live_[place + 1] = live_[place] + cost.delta;
  }
  int32_t first = (leaves_ + begin) / 2;
  for (int32_t last = (leaves_ + end - 1) / 2; last > 0; first /= 2, last /= 2) {
    for (int32_t at = first; at <= last; ++at)
      tree_[at] = std::max(tree_[2 * at], tree_[2 * at + 1]);
  }
}

}  // namespace plimsoll::compile
