#include "compile/passes/constants.h"

#include <algorithm>

#include "compile/passes/bodies.h"
#include "kernels/catalogue.h"

namespace plimsoll::compile {
namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;

}  // namespace

std::vector<bool> StoredConstants(const Graph& graph) {
  std::vector<bool> constant(graph.values.size());
  for (size_t i = 0; i < graph.values.size(); ++i) constant[i] = graph.values[i].constant.valid();
  return constant;
}

std::vector<bool> FindConstantValues(const Graph& graph) {
  std::vector<bool> constant = StoredConstants(graph);
  const auto visit = [&](auto&& self, graph::SubgraphId body) -> void {
    for (const NodeId id : graph[body].nodes) {
      const Node& node = graph[id];
      for (const graph::SubgraphId inner : SubgraphsOf(node)) self(self, inner);
      const std::vector<ValueId> reads = ReadsOf(graph, id);
      const bool fixed = kernels::IsDeterministic(node) &&
                         std::all_of(reads.begin(), reads.end(),
                                     [&](ValueId value) { return constant[value.index()]; });
      if (!fixed) continue;
      for (const ValueId output : node.outputs) {
        if (output.valid()) constant[output.index()] = true;
      }
    }
  };
  visit(visit, Graph::kRoot);
  return constant;
}

std::vector<ValueId> KeptConstants(const Graph& graph, const std::vector<bool>& constant) {
  std::vector<bool> kept(graph.values.size());
  const auto keep = [&](ValueId value) {
    if (value.valid() && constant[value.index()]) kept[value.index()] = true;
  };
  for (const Node& node : graph.nodes) {
    const bool runs = std::any_of(node.outputs.begin(), node.outputs.end(), [&](ValueId output) {
      return output.valid() && !constant[output.index()];
    });
    if (runs) std::for_each(node.inputs.begin(), node.inputs.end(), keep);
  }
  for (const graph::Subgraph& body : graph.subgraphs) {
    std::for_each(body.outputs.begin(), body.outputs.end(), keep);
  }
  std::vector<ValueId> values;
  for (size_t i = 0; i < kept.size(); ++i) {
    if (kept[i]) values.emplace_back(i);
  }
  return values;
}

Bytes WeightBytes(const Graph& graph, const std::vector<bool>& constant) {
  Bytes sum;
  for (const ValueId value : KeptConstants(graph, constant)) sum += PlannedSize(graph[value].type);
  return sum;
}

}  // namespace plimsoll::compile
