#include "compile/bodies/cut_stretch.h"

#include <algorithm>
#include <optional>
#include <unordered_set>
#include <utility>

#include "compile/compile_model.h"
#include "compile/passes/bodies.h"
#include "compile/passes/compact.h"
#include "compile/shapes/shapes.h"
#include "kernels/backend.h"

namespace plimsoll::compile {
namespace {

using graph::Graph;
using graph::NodeId;
using graph::SubgraphId;
using graph::ValueId;

// Elements of values that others made, out of sight for as long as it lives.
class HiddenContents {
 public:
  explicit HiddenContents(Graph& graph) : graph_(graph) {}
  HiddenContents(const HiddenContents&) = delete;
  HiddenContents& operator=(const HiddenContents&) = delete;
  ~HiddenContents() {
    for (auto& [value, content] : hidden_) graph_[value].content = std::move(content);
  }

  void Hide(ValueId value) {
    if (!value.valid() || graph_[value].constant.valid() || !graph_[value].content) return;
    hidden_.emplace_back(value, std::exchange(graph_[value].content, std::nullopt));
  }

 private:
  Graph& graph_;
  std::vector<std::pair<ValueId, std::optional<graph::Content>>> hidden_;
};

bool HasKernels(const Graph& graph, NodeId id) {
  const std::vector<SubgraphId> bodies = SubgraphsOf(graph[id]);
  if (bodies.empty()) return kernels::HostBackend().Supports(graph, id);
  return std::ranges::all_of(bodies, [&](SubgraphId body) {
    return std::ranges::all_of(graph[body].nodes,
                               [&](NodeId inner) { return HasKernels(graph, inner); });
  });
}

void MoveHome(Graph& graph, NodeId id) {
  graph[id].home = Graph::kRoot;
  for (const ValueId output : graph[id].outputs) {
    if (output.valid()) graph[output].home = Graph::kRoot;
  }
}

// Sizes that nobody knows count as 1.
void SettleSizes(graph::ValueType& type) {
  if (!type.is_tensor() || !type.shape) return;
  for (graph::Dim& dim : *type.shape) {
    if (!dim.is_number()) dim = graph::Dim(1);
  }
}

}  // namespace

Stretch FindStretch(Graph& graph, SubgraphId body, size_t first) {
  HiddenContents hidden(graph);
  std::unordered_set<size_t> made;
  Stretch stretch{body, first, first};
  for (; stretch.end < graph[body].nodes.size(); ++stretch.end) {
    const NodeId id = graph[body].nodes[stretch.end];
    for (const ValueId read : ReadsOf(graph, id)) {
      if (!made.contains(read.index())) hidden.Hide(read);
    }
    if (!InferNode(graph, id).ok() || WhyNotPlannable(graph, id) || !HasKernels(graph, id)) break;
    for (const ValueId output : graph[id].outputs) {
      if (output.valid()) made.insert(output.index());
    }
  }
  return stretch;
}

StretchPorts PortsOfStretch(const Graph& graph, const Stretch& stretch) {
  const std::vector<NodeId>& nodes = graph[stretch.body].nodes;
  StretchPorts ports;
  std::unordered_set<size_t> made;
  std::unordered_set<size_t> given;
  for (size_t i = stretch.first; i < stretch.end; ++i) {
    for (const ValueId read : ReadsOf(graph, nodes[i])) {
      if (made.contains(read.index()) || graph[read].constant.valid()) continue;
      if (given.insert(read.index()).second) ports.inputs.push_back(read);
    }
    for (const ValueId output : graph[nodes[i]].outputs) {
      if (output.valid()) made.insert(output.index());
    }
  }
  std::unordered_set<size_t> taken;
  const auto take = [&](ValueId value) {
    if (!value.valid() || !made.contains(value.index())) return;
    if (taken.insert(value.index()).second) ports.outputs.push_back(value);
  };
  for (size_t i = stretch.end; i < nodes.size(); ++i) {
    for (const ValueId read : ReadsOf(graph, nodes[i])) take(read);
  }
  for (const ValueId output : graph[stretch.body].outputs) take(output);
  return ports;
}

Graph CutStretch(const Graph& graph, const Stretch& stretch, const StretchPorts& ports) {
  Graph cut = graph;
  const std::vector<NodeId>& nodes = graph[stretch.body].nodes;
  graph::Subgraph root;
  root.name = graph[stretch.body].name;
  root.inputs = ports.inputs;
  root.outputs = ports.outputs;
  root.nodes.assign(nodes.begin() + static_cast<int64_t>(stretch.first),
                    nodes.begin() + static_cast<int64_t>(stretch.end));
  for (const NodeId id : root.nodes) MoveHome(cut, id);
  for (const ValueId input : root.inputs) {
    graph::Value& value = cut[input];
    value.producer = NodeId();
    value.content.reset();
    value.declared = value.type;
    value.home = Graph::kRoot;
  }
  cut[Graph::kRoot] = std::move(root);
  cut.metadata.clear();
  return Compact(cut);
}

GraphCuts FindCuts(Graph graph) {
  for (const ValueId input : graph.root().inputs) SettleSizes(graph[input].type);
  GraphCuts cuts;
  const std::vector<NodeId> nodes = graph.root().nodes;
  for (size_t i = 0; i < nodes.size();) {
    const Stretch stretch = FindStretch(graph, Graph::kRoot, i);
    if (stretch.end > i) {
      ++cuts.stretches;
      cuts.planned_nodes += static_cast<int64_t>(stretch.end - i);
    }
    i = stretch.end + 1;
    if (stretch.end == nodes.size()) break;
    const NodeId cut = nodes[stretch.end];
    cuts.single.push_back(cut);
    // A node whose shapes cannot be leaves its outputs as they are.
    (void)InferNode(graph, cut).ok();
    for (const ValueId output : graph[cut].outputs) {
      if (output.valid()) SettleSizes(graph[output].type);
    }
  }
  return cuts;
}

}  // namespace plimsoll::compile
