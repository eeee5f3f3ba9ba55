#include "kernels/catalogue.h"

#include <algorithm>

#include "graph/operator_row.h"

namespace plimsoll::kernels {
namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::OperatorFacts;
using graph::ValueType;

bool SameBytes(const ValueType& a, const ValueType& b) {
  return a.is_tensor() && b.is_tensor() && a.shape && b.shape && *a.shape == *b.shape &&
         graph::Bits(a.data_type) == graph::Bits(b.data_type) && graph::Bits(a.data_type) > 0;
}

}  // namespace

std::vector<InPlacePair> InPlacePairs(const Graph& graph, NodeId id) {
  const Node& node = graph[id];
  if (node.outputs.empty() || !node.outputs[0].valid()) return {};
  const graph::InputSet allowed = graph::FactsOf(node).in_place_inputs;
  if (allowed == 0) return {};
  const ValueType& made = graph[node.outputs[0]].type;
  std::vector<InPlacePair> pairs;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const graph::ValueId input = node.inputs[i];
    if (!input.valid() || !graph::Contains(allowed, i)) continue;
    const bool read_otherwise = std::count(node.inputs.begin(), node.inputs.end(), input) > 1;
    if (read_otherwise && allowed != graph::kEveryInput) continue;
    if (SameBytes(made, graph[input].type)) pairs.push_back({0, static_cast<int>(i)});
  }
  return pairs;
}

bool IsDeterministic(const Node& node) {
  const OperatorFacts& facts = graph::FactsOf(node);
  return facts.random == nullptr || !facts.random(node);
}

}  // namespace plimsoll::kernels
