#include "compile/order/search/order_cut.h"

#include <algorithm>
#include <span>

#include "compile/order/search/flow_network.h"

namespace plimsoll::compile {
namespace {

// Where a node stands: before `node` in every order, behind it in every order, or free (then its
// vertex in the network).
class Sides {
 public:
  static constexpr int32_t kSource = 0;
  static constexpr int32_t kTarget = 1;

  Sides(const OrderGraph& graph, int32_t node) : side_(static_cast<size_t>(graph.size()), -1) {
    Spread(node, kSource, [&](int32_t at) { return graph.predecessors(at); });
    Spread(node, kTarget, [&](int32_t at) { return graph.successors(at); });
    for (int32_t& side : side_) {
      if (side < 0) side = vertices_++;
    }
  }

  int32_t operator[](int32_t node) const { return side_[node]; }
  int32_t vertices() const { return vertices_; }

 private:
  // The node itself has not run at its own moment, so it ends on the target's side.
  template <typename Neighbours>
  void Spread(int32_t node, int32_t side, Neighbours neighbours) {
    std::vector<int32_t> open = {node};
    side_[node] = side;
    while (!open.empty()) {
      const int32_t at = open.back();
      open.pop_back();
      for (const int32_t neighbour : neighbours(at)) {
        if (side_[neighbour] >= 0) continue;
        side_[neighbour] = side;
        open.push_back(neighbour);
      }
    }
  }

  std::vector<int32_t> side_;
  int32_t vertices_ = 2;
};

class Cut {
 public:
  Cut(const OrderGraph& graph, int32_t node)
      : graph_(graph),
        node_(node),
        sides_(graph, node),
        network_(sides_.vertices()),
        constant_(graph.live_before()) {
    for (int32_t at = 0; at < graph.size(); ++at) {
      for (const int32_t predecessor : graph.predecessors(at)) {
        Arc(sides_[at], sides_[predecessor], FlowNetwork::kUnlimited);
      }
    }
    for (int32_t storage = 0; storage < graph.storages(); ++storage) AddStorage(storage);
    AddTakeovers();
  }

  CheapestMoment Find(int64_t step_limit) {
    CheapestMoment moment;
    moment.found = network_.Saturate(Sides::kSource, Sides::kTarget, step_limit);
    moment.steps = network_.steps() + graph_.size() + graph_.edges();
    if (!moment.found) return moment;
    moment.bytes = constant_ + network_.flow();
    for (int32_t at = 0; at < graph_.size(); ++at) {
      moment.before.push_back(network_.NearSource(sides_[at]));
    }
    return moment;
  }

 private:
  void Arc(int32_t from, int32_t to, int64_t capacity) {
    if (from != to && from != Sides::kTarget && to != Sides::kSource) {
      network_.AddArc(from, to, capacity);
    }
  }

  // Bytes of `writers` are live while any of `users` has yet to run.
  void AddStorage(int32_t storage) {
    const OrderGraph::Storage& bytes = graph_.storage(storage);
    const auto users = graph_.users(storage);
    const auto on = [&](int32_t side) {
      return [this, side](int32_t user) { return sides_[user] == side; };
    };
    constant_ -= bytes.held_before;
    if (!bytes.kept && std::ranges::all_of(users, on(Sides::kSource))) return;
    if (bytes.held_before == 0 && std::ranges::all_of(users, on(Sides::kTarget))) return;
    const int32_t unfinished = bytes.kept ? Sides::kTarget : VertexOfAny(users);
    const auto add = [&](int32_t side, int64_t written) {
      if (side == Sides::kSource && unfinished == Sides::kTarget) {
        constant_ += written;
      } else {
        Arc(side, unfinished, written);
      }
    };
    if (bytes.held_before > 0) add(Sides::kSource, bytes.held_before);
    for (const OrderGraph::Writer& writer : graph_.writers(storage)) {
      add(sides_[writer.node], writer.bytes);
    }
  }

  // A vertex that is on the target's side as soon as one of the nodes is.
  int32_t VertexOfAny(std::span<const int32_t> nodes) {
    if (std::ranges::any_of(nodes, [&](int32_t at) { return sides_[at] == Sides::kTarget; })) {
      return Sides::kTarget;
    }
    const int32_t vertex = network_.AddVertex();
    for (const int32_t at : nodes) Arc(vertex, sides_[at], FlowNetwork::kUnlimited);
    return vertex;
  }

  // An output costs its bytes unless every other node that touches the storage has run; with
  // several storages to choose from, it is taken as free.
  void AddTakeovers() {
    constant_ += graph_.written(node_) + graph_.workspace(node_);
    const auto takeovers = graph_.takeovers(node_);
    for (size_t i = 0; i < takeovers.size();) {
      size_t possible = 0;
      std::vector<int32_t> others;
      const int32_t output = takeovers[i].output;
      const int64_t bytes = takeovers[i].bytes;
      for (; i < takeovers.size() && takeovers[i].output == output; ++i) {
        if (!MayBeLast(takeovers[i])) continue;
        ++possible;
        others.assign(graph_.users(takeovers[i].storage).begin(),
                      graph_.users(takeovers[i].storage).end());
      }
      if (possible == 0) continue;
      constant_ -= bytes;
      if (possible > 1) continue;
      std::erase(others, node_);
      if (!others.empty()) Arc(Sides::kSource, VertexOfAny(others), bytes);
    }
  }

  bool MayBeLast(const OrderGraph::Takeover& takeover) const {
    const OrderGraph::Storage& storage = graph_.storage(takeover.storage);
    return storage.total == takeover.bytes && !storage.kept &&
           std::ranges::none_of(graph_.users(takeover.storage), [&](int32_t user) {
             return user != node_ && sides_[user] == Sides::kTarget;
           });
  }

  const OrderGraph& graph_;
  const int32_t node_;
  const Sides sides_;
  FlowNetwork network_;
  int64_t constant_ = 0;
};

}  // namespace

CheapestMoment FindCheapestMoment(const OrderGraph& graph, int32_t node, int64_t step_limit) {
  return Cut(graph, node).Find(step_limit);
}

}  // namespace plimsoll::compile
