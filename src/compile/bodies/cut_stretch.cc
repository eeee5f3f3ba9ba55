#include "compile/bodies/cut_stretch.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "compile/passes/bodies.h"
#include "compile/passes/compact.h"
#include "compile/plannable.h"
#include "compile/shapes/shapes.h"
#include "graph/operator_row.h"
#include "kernels/backend.h"

namespace plimsoll::compile {
namespace {

using graph::Graph;
using graph::NodeId;
using graph::SubgraphId;
using graph::ValueId;

// Elements of values that others made, out of sight or assumed for as long as it lives.
class ShownContents {
 public:
  explicit ShownContents(Graph& graph) : graph_(graph) {}
  ShownContents(const ShownContents&) = delete;
  ShownContents& operator=(const ShownContents&) = delete;
  ~ShownContents() {
    for (auto& [value, content] : before_) graph_[ValueId(value)].content = std::move(content);
  }

  void Show(ValueId value, std::optional<graph::Content> content) {
    before_.try_emplace(value.index(), graph_[value].content);
    graph_[value].content = std::move(content);
  }

 private:
  Graph& graph_;
  std::unordered_map<size_t, std::optional<graph::Content>> before_;
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

// Finds how far a stretch goes.
class StretchFinder {
 public:
  StretchFinder(Graph& graph, SubgraphId body, size_t first, const ElementsToAssume& elements)
      : graph_(graph), elements_(elements), shown_(graph), stretch_{body, first, first} {}

  Stretch Find() {
    const std::vector<NodeId> nodes = graph_[stretch_.body].nodes;
    for (; stretch_.end < nodes.size(); ++stretch_.end) {
      const NodeId id = nodes[stretch_.end];
      for (const ValueId read : ReadsOf(graph_, id)) HideElements(read);
      if (!HasKernels(graph_, id) || !(CanPlan(id) || CanPlanWithElements(id))) break;
      for (const ValueId output : graph_[id].outputs) {
        if (output.valid()) made_.insert(output.index());
      }
    }
    return std::move(stretch_);
  }

 private:
  // What a node's sizes may follow from: nodes of the stretch, in their order, and what they and
  // the node read of others.
  struct Sources {
    std::vector<NodeId> nodes;
    std::vector<ValueId> inputs;
  };

  bool IsInput(ValueId value) const {
    return value.valid() && !graph_[value].constant.valid() && !made_.contains(value.index());
  }

  void HideElements(ValueId read) {
    if (IsInput(read) && hidden_.insert(read.index()).second) shown_.Show(read, std::nullopt);
  }

  bool CanPlan(NodeId id) { return InferNode(graph_, id).ok() && !WhyNotPlannable(graph_, id); }

  Sources SourcesOf(NodeId id) const {
    std::unordered_set<size_t> wanted;
    Sources sources;
    const auto want = [&](ValueId value) {
      if (!value.valid() || !wanted.insert(value.index()).second) return;
      if (IsInput(value)) sources.inputs.push_back(value);
    };
    const graph::Node& node = graph_[id];
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (graph::Contains(graph::FactsOf(node).host_inputs, i)) want(node.inputs[i]);
    }
    for (size_t i = stretch_.end; i-- > stretch_.first;) {
      const NodeId maker = graph_[stretch_.body].nodes[i];
      const bool is_source = std::ranges::any_of(graph_[maker].outputs, [&](ValueId output) {
        return output.valid() && wanted.contains(output.index());
      });
      if (!is_source) continue;
      sources.nodes.push_back(maker);
      for (const ValueId read : graph_[maker].inputs) want(read);
    }
    std::ranges::reverse(sources.nodes);
    return sources;
  }

  bool CanPlanFrom(const Sources& sources, NodeId id) {
    for (const NodeId source : sources.nodes) {
      if (!InferNode(graph_, source).ok()) return false;
    }
    return CanPlan(id);
  }

  bool CanPlanWithElements(NodeId id) {
    if (!elements_) return false;
    const Sources sources = SourcesOf(id);
    std::vector<ValueId> added;
    for (const ValueId input : sources.inputs) {
      if (graph_[input].content) continue;
      if (auto content = elements_(input)) {
        shown_.Show(input, std::move(content));
        added.push_back(input);
      }
    }
    if (added.empty()) return false;
    const bool helps = CanPlanFrom(sources, id);
    // Those that nothing follows from are not assumed.
    for (const ValueId value : added) {
      auto content = std::exchange(graph_[value].content, std::nullopt);
      if (!helps || CanPlanFrom(sources, id)) continue;
      graph_[value].content = std::move(content);
      stretch_.assumed.push_back(value);
    }
    // All that came before learns what is assumed from now on.
    const std::vector<NodeId>& nodes = graph_[stretch_.body].nodes;
    for (size_t i = stretch_.first; i < stretch_.end; ++i) {
      if (!InferNode(graph_, nodes[i]).ok()) return false;
    }
    return helps && CanPlan(id);
  }

  Graph& graph_;
  const ElementsToAssume& elements_;
  ShownContents shown_;
  Stretch stretch_;
  std::unordered_set<size_t> made_;    // by nodes of the stretch
  std::unordered_set<size_t> hidden_;  // inputs whose elements were looked for
};

}  // namespace

Stretch FindStretch(Graph& graph, SubgraphId body, size_t first, const ElementsToAssume& elements) {
  return StretchFinder(graph, body, first, elements).Find();
}

StretchPorts PortsOfStretch(const Graph& graph, const Stretch& stretch) {
  const std::vector<NodeId>& nodes = graph[stretch.body].nodes;
  StretchPorts ports;
  std::unordered_set<size_t> made;
  std::unordered_set<size_t> given;
  for (const ValueId value : stretch.assumed) given.insert(value.index());
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

Graph CutStretch(const Graph& graph, const Stretch& stretch, const StretchPorts& ports,
                 const std::vector<graph::ConstantTensor>& assumed) {
  Graph cut = graph;
  const std::vector<NodeId>& nodes = graph[stretch.body].nodes;
  graph::Subgraph root;
  root.name = graph[stretch.body].name;
  root.inputs = ports.inputs;
  root.outputs = ports.outputs;
  root.nodes.assign(nodes.begin() + static_cast<int64_t>(stretch.first),
                    nodes.begin() + static_cast<int64_t>(stretch.end));
  for (const NodeId id : root.nodes) MoveHome(cut, id);
  const auto give = [&](ValueId id) -> graph::Value& {
    graph::Value& value = cut[id];
    value.producer = NodeId();
    value.content.reset();
    value.declared = value.type;
    value.home = Graph::kRoot;
    return value;
  };
  for (const ValueId input : root.inputs) give(input);
  for (size_t i = 0; i < stretch.assumed.size(); ++i) {
    graph::Value& value = give(stretch.assumed[i]);
    value.constant = graph::ConstantId(cut.constants.size());
    value.content = graph::ContentOf(assumed[i]);
    cut.constants.push_back(assumed[i]);
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
