#include "compile/passes/host_operators.h"

#include <algorithm>

#include "compile/memory/zero_copy.h"
#include "compile/passes/bodies.h"
#include "graph/operator_row.h"
#include "kernels/backend.h"
#include "kernels/host_value.h"

namespace plimsoll::compile {
namespace {

using graph::DataType;
using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;
using graph::ValueType;

bool HoldsIndices(const ValueType& type) {
  return type.is_tensor() &&
         (type.data_type == DataType::kInt64 || type.data_type == DataType::kInt32 ||
          type.data_type == DataType::kBool);
}

bool AllHoldIndices(const Graph& graph, const std::vector<ValueId>& values) {
  return std::all_of(values.begin(), values.end(), [&](ValueId value) {
    return !value.valid() || HoldsIndices(graph[value].type);
  });
}

// Who feeds whom in the root body.
class Dependencies {
 public:
  explicit Dependencies(const Graph& graph) : before_(graph.nodes.size()), after_(before_) {
    for (const NodeId id : graph.root().nodes) {
      for (const ValueId read : ReadsOf(graph, id)) {
        const NodeId producer = graph[read].producer;
        if (!producer.valid() || graph[read].home != Graph::kRoot) continue;
        before_[id.index()].push_back(producer);
        after_[producer.index()].push_back(id);
      }
    }
  }

  // The nodes that must run before this one or after it, itself included, by node.
  std::vector<bool> Related(NodeId id) const {
    std::vector<bool> related(before_.size());
    Follow(id, before_, related);
    related[id.index()] = false;
    Follow(id, after_, related);
    return related;
  }

 private:
  using Edges = std::vector<std::vector<NodeId>>;

  static void Follow(NodeId start, const Edges& edges, std::vector<bool>& reached) {
    std::vector<NodeId> open = {start};
    while (!open.empty()) {
      const NodeId id = open.back();
      open.pop_back();
      if (reached[id.index()]) continue;
      reached[id.index()] = true;
      open.insert(open.end(), edges[id.index()].begin(), edges[id.index()].end());
    }
  }

  Edges before_;
  Edges after_;
};

// Whether the planner knows what several streams mean for every byte of the graph.
bool MayUseStreams(const Graph& graph) {
  const auto plain = [](const Node& node) {
    graph::MemoryAttributes memory = node.memory;
    memory.needs_clearing.clear();
    return memory.stream == 0 && IsOrdinary(memory) && SubgraphsOf(node).empty();
  };
  const auto& root = graph.root();
  return std::all_of(root.nodes.begin(), root.nodes.end(),
                     [&](NodeId id) { return plain(graph[id]); }) &&
         std::none_of(root.inputs.begin(), root.inputs.end(),
                      [&](ValueId input) { return CarriesMultiBatchShape(graph, input); });
}

}  // namespace

bool IsHostOperator(const Graph& graph, NodeId id) {
  const Node& node = graph[id];
  if (!SubgraphsOf(node).empty()) return false;
  if (!kernels::HostBackend().Supports(graph, id)) {
    return kernels::FindHostOperator(node.domain, node.op, node.version) != nullptr;
  }
  return AllHoldIndices(graph, node.outputs) &&
         (graph::FactsOf(node).result_is_shape || AllHoldIndices(graph, node.inputs));
}

std::vector<bool> IndependentHostOperators(const Graph& graph) {
  std::vector<bool> independent(graph.nodes.size());
  std::vector<NodeId> host;
  std::vector<NodeId> others;
  for (const NodeId id : graph.root().nodes) {
    (IsHostOperator(graph, id) ? host : others).push_back(id);
  }
  if (host.empty() || others.empty()) return independent;
  const Dependencies dependencies(graph);
  for (const NodeId id : host) {
    const std::vector<bool> related = dependencies.Related(id);
    independent[id.index()] = std::any_of(others.begin(), others.end(),
                                          [&](NodeId other) { return !related[other.index()]; });
  }
  return independent;
}

int MoveHostOperatorsToOwnStream(Graph& graph) {
  if (!MayUseStreams(graph)) return 0;
  const std::vector<bool> independent = IndependentHostOperators(graph);
  int moved = 0;
  for (const NodeId id : graph.root().nodes) {
    if (!independent[id.index()]) continue;
    graph[id].memory.stream = 1;
    ++moved;
  }
  return moved;
}

}  // namespace plimsoll::compile
