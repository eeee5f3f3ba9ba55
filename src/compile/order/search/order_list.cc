#include "compile/order/search/order_list.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "compile/order/order_cost.h"
#include "compile/order/rank_set.h"

namespace plimsoll::compile {
namespace {

// How many of the nodes that would shrink the live bytes are tried at each step; only those that
// rise above the bound are passed over.
constexpr int kEagerTries = 8;

std::vector<int32_t> PlacesOf(std::span<const int32_t> order) {
  std::vector<int32_t> places(order.size());
  for (size_t i = 0; i < order.size(); ++i) places[order[i]] = static_cast<int32_t>(i);
  return places;
}

// The nodes that may come next, those that do not raise the live bytes listed separately.
class Candidates {
 public:
  // `order` from the one that comes first among equals.
  Candidates(Order order, ListChoice choice)
      : order_(std::move(order)),
        rank_(PlacesOf(order_)),
        choice_(choice),
        costs_(order_.size()),
        eager_(static_cast<int32_t>(order_.size())),
        present_(static_cast<int32_t>(order_.size())) {}

  void Put(int32_t node, const StepCost& cost) {
    const int32_t rank = rank_[node];
    Entry& entry = costs_[node];
    entry = {cost, true};
    if (choice_ == ListChoice::kRank) {
      present_.Insert(rank);
    } else {
      by_live_.push({cost.delta, rank});
    }
    if (cost.delta <= 0) {
      eager_.Insert(rank);
    } else {
      eager_.Erase(rank);
    }
  }

  void Erase(int32_t node) {
    costs_[node].present = false;
    eager_.Erase(rank_[node]);
    present_.Erase(rank_[node]);
  }

  bool Has(int32_t node) const { return costs_[node].present; }
  const StepCost& cost(int32_t node) const { return costs_[node].cost; }

  // The next node when `room` bytes may be added for a moment.
  int32_t Next(int64_t room) {
    int32_t rank = eager_.Next(0);
    for (int tries = 0; rank >= 0 && tries < kEagerTries; ++tries, rank = eager_.Next(rank + 1)) {
      if (costs_[order_[rank]].cost.rise <= room) return order_[rank];
    }
    if (choice_ == ListChoice::kRank) return order_[present_.Next(0)];
    while (!IsCurrent(by_live_.top())) by_live_.pop();
    return order_[by_live_.top().second];
  }

 private:
  struct Entry {
    StepCost cost;
    bool present = false;
  };
  using Key = std::pair<int64_t, int32_t>;  // bytes that the node adds, its rank

  bool IsCurrent(const Key& key) const {
    const Entry& entry = costs_[order_[key.second]];
    return entry.present && entry.cost.delta == key.first;
  }

  const Order order_;                // by rank
  const std::vector<int32_t> rank_;  // by node
  const ListChoice choice_;
  std::vector<Entry> costs_;
  RankSet eager_;
  RankSet present_;                                                     // kRank
  std::priority_queue<Key, std::vector<Key>, std::greater<>> by_live_;  // kLeastLive; some are old
};

// Candidates whose cost one step has changed, each once.
class Changed {
 public:
  explicit Changed(int32_t nodes) : noted_(static_cast<size_t>(nodes), false) {}

  void Add(std::span<const int32_t> nodes, const Candidates& candidates) {
    for (const int32_t node : nodes) {
      if (noted_[node] || !candidates.Has(node)) continue;
      noted_[node] = true;
      nodes_.push_back(node);
    }
  }

  template <typename Visit>
  void ForEach(Visit visit) {
    for (const int32_t node : nodes_) {
      noted_[node] = false;
      visit(node);
    }
    nodes_.clear();
  }

 private:
  std::vector<bool> noted_;  // by node
  std::vector<int32_t> nodes_;
};

}  // namespace

Order ListForward(const OrderGraph& graph, std::span<const int32_t> order, int64_t bound,
                  ListChoice choice) {
  Candidates candidates(Order(order.begin(), order.end()), choice);
  std::vector<int32_t> waits(order.size());
  std::vector<int32_t> touches_left = TouchesLeft(graph);
  const auto is_last = [&](int32_t storage) { return touches_left[storage] == 1; };
  const auto put = [&](int32_t node) { candidates.Put(node, CostOfStep(graph, node, is_last)); };
  for (int32_t node = 0; node < graph.size(); ++node) {
    waits[node] = static_cast<int32_t>(graph.predecessors(node).size());
    if (waits[node] == 0) put(node);
  }
  Changed changed(graph.size());
  Order result;
  int64_t live = graph.live_before();
  while (result.size() < order.size()) {
    const int32_t node = candidates.Next(bound - live);
    live += candidates.cost(node).delta;
    candidates.Erase(node);
    result.push_back(node);
    for (const OrderGraph::Touch& touch : graph.touches(node)) {
      if (--touches_left[touch.storage] == 1) changed.Add(graph.users(touch.storage), candidates);
    }
    changed.ForEach(put);
    for (const int32_t successor : graph.successors(node)) {
      if (--waits[successor] == 0) put(successor);
    }
  }
  return result;
}

Order ListBackward(const OrderGraph& graph, std::span<const int32_t> order, int64_t bound) {
  Candidates candidates(Order(order.rbegin(), order.rend()), ListChoice::kRank);
  std::vector<int32_t> waits(order.size());
  // Nodes behind that touch a storage; one more where nodes behind the graph do.
  std::vector<int32_t> touches_behind(static_cast<size_t>(graph.storages()));
  for (int32_t storage = 0; storage < graph.storages(); ++storage) {
    touches_behind[storage] = graph.storage(storage).kept ? 1 : 0;
  }
  // Costs are those of taking the node away: live bytes once it is gone, and while it runs, each
  // against what is live behind it.
  const auto put = [&](int32_t node) {
    const StepCost cost =
        CostOfStep(graph, node, [&](int32_t storage) { return touches_behind[storage] == 0; });
    candidates.Put(node, {.rise = cost.rise - cost.delta, .delta = -cost.delta});
  };
  int64_t live = graph.live_before();
  for (int32_t storage = 0; storage < graph.storages(); ++storage) {
    const OrderGraph::Storage& bytes = graph.storage(storage);
    live += (bytes.kept ? bytes.total : 0) - bytes.held_before;
  }
  for (int32_t node = 0; node < graph.size(); ++node) {
    waits[node] = static_cast<int32_t>(graph.successors(node).size());
    if (waits[node] == 0) put(node);
  }
  Changed changed(graph.size());
  Order result;
  while (result.size() < order.size()) {
    const int32_t node = candidates.Next(bound - live);
    live += candidates.cost(node).delta;
    candidates.Erase(node);
    result.push_back(node);
    for (const OrderGraph::Touch& touch : graph.touches(node)) {
      if (touches_behind[touch.storage]++ == 0) changed.Add(graph.users(touch.storage), candidates);
    }
    changed.ForEach(put);
    for (const int32_t predecessor : graph.predecessors(node)) {
      if (--waits[predecessor] == 0) put(predecessor);
    }
  }
  std::reverse(result.begin(), result.end());
  return result;
}

}  // namespace plimsoll::compile
