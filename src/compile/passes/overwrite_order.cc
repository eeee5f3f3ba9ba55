#include "compile/passes/overwrite_order.h"

#include <algorithm>
#include <vector>

#include "compile/passes/bodies.h"

namespace plimsoll::compile {
namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::SubgraphId;
using graph::ValueId;

bool Overwrites(const Graph& graph, NodeId id) {
  return !graph[id].memory.reference_outputs.empty();
}

class BodyOrder {
 public:
  BodyOrder(Graph& graph, SubgraphId body) : graph_(graph), nodes_(graph[body].nodes) {}

  void Settle() {
    const std::vector<NodeId> before = nodes_;
    for (const NodeId id : before) {
      if (Overwrites(graph_, id)) Delay(id);
    }
  }

 private:
  void Delay(NodeId id) {
    const auto first = std::find(nodes_.begin(), nodes_.end(), id);
    std::vector<bool> late(graph_.values.size());  // by value: needs the node
    std::vector<bool> waits(graph_.nodes.size());  // by node: is or needs the node
    auto end = first;
    for (auto other = first; other != nodes_.end(); ++other) {
      const std::vector<ValueId> reads = ReadsOf(graph_, *other);
      const bool needs =
          *other == id || std::any_of(reads.begin(), reads.end(),
                                      [&](ValueId value) { return late[value.index()]; });
      waits[other->index()] = needs;
      if (needs) {
        for (const ValueId output : graph_[*other].outputs) {
          if (output.valid()) late[output.index()] = true;
        }
      } else if (std::any_of(reads.begin(), reads.end(),
                             [&](ValueId value) { return IsOverwritten(id, value); })) {
        end = other + 1;
      }
    }
    std::stable_partition(first, end, [&](NodeId other) { return !waits[other.index()]; });
  }

  bool IsOverwritten(NodeId id, ValueId value) const {
    const Node& node = graph_[id];
    const auto& references = node.memory.reference_outputs;
    return std::any_of(references.begin(), references.end(), [&](const auto& reference) {
      const auto input = static_cast<size_t>(reference.input);
      return input < node.inputs.size() && node.inputs[input] == value;
    });
  }

  Graph& graph_;
  std::vector<NodeId>& nodes_;
};

void SettleBody(Graph& graph, SubgraphId body) {
  BodyOrder(graph, body).Settle();
  for (const NodeId node : graph[body].nodes) {
    for (const SubgraphId inner : SubgraphsOf(graph[node])) SettleBody(graph, inner);
  }
}

}  // namespace

void OverwriteAfterReaders(Graph& graph) { SettleBody(graph, Graph::kRoot); }

}  // namespace plimsoll::compile
