#include "kernels/catalogue.h"

#include <algorithm>

#include "graph/operator_row.h"
#include "graph/registered_operators.h"

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

// Whether the output may be written over each input of the node that is this value.
bool AllowsEveryRead(const graph::RegisteredOperator& registered, const Node& node, int output,
                     graph::ValueId value) {
  const auto& pairs = registered.in_place;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i] != value) continue;
    const std::pair<int, int> pair(output, static_cast<int>(i));
    if (std::find(pairs.begin(), pairs.end(), pair) == pairs.end()) return false;
  }
  return true;
}

std::vector<InPlacePair> RegisteredPairs(const Graph& graph, const Node& node) {
  const graph::RegisteredOperator* found =
      graph::FindRegisteredOperator(node.domain, node.op, node.version);
  std::vector<InPlacePair> pairs;
  if (found == nullptr) return pairs;
  for (const auto& [output, input] : found->in_place) {
    const auto made = static_cast<size_t>(output);
    const auto read = static_cast<size_t>(input);
    const bool there = made < node.outputs.size() && node.outputs[made].valid() &&
                       read < node.inputs.size() && node.inputs[read].valid() &&
                       AllowsEveryRead(*found, node, output, node.inputs[read]);
    if (there && SameBytes(graph[node.outputs[made]].type, graph[node.inputs[read]].type)) {
      pairs.push_back({output, input});
    }
  }
  return pairs;
}

std::vector<InPlacePair> CachePairs(const Graph& graph, const Node& node,
                                    const OperatorFacts& facts) {
  std::vector<InPlacePair> pairs;
  for (const auto& [output, input] : facts.in_place_caches) {
    const auto made = static_cast<size_t>(output);
    const auto read = static_cast<size_t>(input);
    if (output == 0 || made >= node.outputs.size() || read >= node.inputs.size()) continue;
    const graph::ValueId from = node.inputs[read];
    if (!node.outputs[made].valid() || !from.valid()) continue;
    if (std::count(node.inputs.begin(), node.inputs.end(), from) > 1) continue;
    if (SameBytes(graph[node.outputs[made]].type, graph[from].type)) {
      pairs.push_back({output, input});
    }
  }
  return pairs;
}

}  // namespace

std::vector<InPlacePair> InPlacePairs(const Graph& graph, NodeId id) {
  const Node& node = graph[id];
  if (node.outputs.empty() || !node.outputs[0].valid()) return {};
  const OperatorFacts& facts = graph::FactsOf(node);
  const graph::InputSet allowed = facts.in_place_inputs;
  if (facts.in_place_caches[0].output != 0) return CachePairs(graph, node, facts);
  if (allowed == 0) return RegisteredPairs(graph, node);
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
  if (const auto* found = graph::FindRegisteredOperator(node.domain, node.op, node.version)) {
    return found->deterministic;
  }
  const OperatorFacts& facts = graph::FactsOf(node);
  return facts.random == nullptr || !facts.random(node);
}

}  // namespace plimsoll::kernels
