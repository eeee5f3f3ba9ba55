#include "compile/passes/inline_branches.h"

#include <algorithm>

#include "compile/passes/rewriter.h"

namespace plimsoll::compile {
namespace {

using graph::Graph;
using graph::NodeId;
using graph::SubgraphId;
using graph::ValueId;

// The branch that an `If` always takes; not valid where the condition is not known.
SubgraphId TakenBranch(const Graph& graph, const graph::Node& node) {
  if (!node.domain.empty() || node.op != "If" || node.inputs.size() != 1) return {};
  const graph::ConstantId condition = graph[node.inputs[0]].constant;
  if (!condition.valid()) return {};
  const std::vector<int64_t> elements = graph[condition].Integers();
  if (elements.size() != 1) return {};
  return node.attributes.Subgraph(elements[0] != 0 ? "then_branch" : "else_branch");
}

// What the branch returns for an output must be made by the branch itself, so that it can become
// the output.
bool CanInline(const Graph& graph, const Rewriter& rewriter, const graph::Node& node,
               SubgraphId branch) {
  const std::vector<ValueId>& returned = graph[branch].outputs;
  if (!MayRewrite(node) || returned.size() != node.outputs.size()) return false;
  for (size_t i = 0; i < returned.size(); ++i) {
    if (rewriter.IsOverwritten(node.outputs[i]) || rewriter.IsOverwritten(returned[i]))
      return false;
    if (!node.outputs[i].valid() || !rewriter.IsOutput(node.outputs[i])) continue;
    const bool own = graph[returned[i]].home == branch && graph[returned[i]].producer.valid();
    if (!own || std::count(returned.begin(), returned.end(), returned[i]) != 1) return false;
  }
  return true;
}

void MoveOut(Graph& graph, NodeId owner, SubgraphId branch) {
  const SubgraphId home = graph[owner].home;
  for (graph::Value& value : graph.values) {
    if (value.home == branch) value.home = home;
  }
  for (const NodeId node : graph[branch].nodes) graph[node].home = home;
  std::vector<NodeId>& nodes = graph[home].nodes;
  const auto place = std::find(nodes.begin(), nodes.end(), owner);
  nodes.insert(place, graph[branch].nodes.begin(), graph[branch].nodes.end());
  graph[branch].nodes.clear();
}

// `declined` counts those that are left.
bool InlineOne(Graph& graph, SubgraphId body, int& declined) {
  for (const NodeId id : graph[body].nodes) {
    const SubgraphId branch = TakenBranch(graph, graph[id]);
    if (!branch.valid()) {
      for (const SubgraphId inner : SubgraphsOf(graph[id])) {
        if (InlineOne(graph, inner, declined)) return true;
      }
      continue;
    }
    if (!CanInline(graph, Rewriter(graph), graph[id], branch)) {
      ++declined;
      continue;
    }
    MoveOut(graph, id, branch);
    const std::vector<ValueId> returned = std::move(graph[branch].outputs);
    graph[branch].outputs.clear();
    Rewriter rewriter(graph);
    const std::vector<ValueId> outputs = graph[id].outputs;
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i].valid()) rewriter.StandIn(outputs[i], returned[i]);
    }
    rewriter.Drop(id);
    return true;
  }
  return false;
}

}  // namespace

FusionCounts InlineBranches(Graph& graph, const FusionSwitches& /*switches*/) {
  FusionCounts counts;
  int declined = 0;
  while (InlineOne(graph, Graph::kRoot, declined)) {
    counts.Took(FusionPattern::kBranchInline);
    declined = 0;
  }
  counts.Declined(FusionPattern::kBranchInline, declined);
  return counts;
}

}  // namespace plimsoll::compile
