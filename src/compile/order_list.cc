#include "compile/order_list.h"

#include <algorithm>
#include <cassert>
#include <set>
#include <tuple>
#include <vector>

#include "compile/order_cost.h"

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

// The nodes that may come next, those that do not raise the live bytes apart from the others.
class Candidates {
 public:
  Candidates(std::span<const int32_t> ranks, ListChoice choice)
      : ranks_(ranks.begin(), ranks.end()), choice_(choice), costs_(ranks.size()) {}

  void Put(int32_t node, const StepCost& cost) {
    Erase(node);
    costs_[node] = {cost, true};
    others_.insert(KeyOf(node));
    if (cost.delta <= 0) eager_.insert({ranks_[node], node});
  }

  void Erase(int32_t node) {
    if (!costs_[node].present) return;
    others_.erase(KeyOf(node));
    eager_.erase({ranks_[node], node});
    costs_[node].present = false;
  }

  bool Has(int32_t node) const { return costs_[node].present; }
  const StepCost& cost(int32_t node) const { return costs_[node].cost; }

  // The next node when `room` bytes may be added for a moment.
  int32_t Next(int64_t room) const {
    int tries = 0;
    for (auto entry = eager_.begin(); entry != eager_.end() && tries < kEagerTries;
         ++entry, ++tries) {
      if (costs_[entry->second].cost.rise <= room) return entry->second;
    }
    return std::get<2>(*others_.begin());
  }

 private:
  struct Entry {
    StepCost cost;
    bool present = false;
  };
  using Key = std::tuple<int64_t, int32_t, int32_t>;

  Key KeyOf(int32_t node) const {
    return {choice_ == ListChoice::kLeastLive ? costs_[node].cost.delta : 0, ranks_[node], node};
  }

  std::vector<int32_t> ranks_;
  ListChoice choice_;
  std::vector<Entry> costs_;
  std::set<std::pair<int32_t, int32_t>> eager_;
  std::set<Key> others_;
};

}  // namespace

Order ListForward(const OrderGraph& graph, std::span<const int32_t> order, int64_t bound,
                  ListChoice choice) {
  Candidates candidates(PlacesOf(order), choice);
  std::vector<int32_t> waits(order.size());
  std::vector<int32_t> touches_left = TouchesLeft(graph);
  const auto is_last = [&](int32_t storage) { return touches_left[storage] == 1; };
  const auto put = [&](int32_t node) { candidates.Put(node, CostOfStep(graph, node, is_last)); };
  for (int32_t node = 0; node < graph.size(); ++node) {
    waits[node] = static_cast<int32_t>(graph.predecessors(node).size());
    if (waits[node] == 0) put(node);
  }
  Order result;
  int64_t live = graph.live_before();
  while (result.size() < order.size()) {
    const int32_t node = candidates.Next(bound - live);
    live += candidates.cost(node).delta;
    candidates.Erase(node);
    result.push_back(node);
    for (const OrderGraph::Touch& touch : graph.touches(node)) {
      if (--touches_left[touch.storage] != 1) continue;
      for (const int32_t user : graph.users(touch.storage)) {
        if (candidates.Has(user)) put(user);
      }
    }
    for (const int32_t successor : graph.successors(node)) {
      if (--waits[successor] == 0) put(successor);
    }
  }
  return result;
}

Order ListBackward(const OrderGraph& graph, std::span<const int32_t> order, int64_t bound) {
  std::vector<int32_t> ranks = PlacesOf(order);
  for (int32_t& rank : ranks) rank = -rank;
  Candidates candidates(ranks, ListChoice::kRank);
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
  Order result;
  while (result.size() < order.size()) {
    const int32_t node = candidates.Next(bound - live);
    live += candidates.cost(node).delta;
    candidates.Erase(node);
    result.push_back(node);
    for (const OrderGraph::Touch& touch : graph.touches(node)) {
      if (touches_behind[touch.storage]++ != 0) continue;
      for (const int32_t user : graph.users(touch.storage)) {
        if (candidates.Has(user)) put(user);
      }
    }
    for (const int32_t predecessor : graph.predecessors(node)) {
      if (--waits[predecessor] == 0) put(predecessor);
    }
  }
  std::reverse(result.begin(), result.end());
  return result;
}

}  // namespace plimsoll::compile
