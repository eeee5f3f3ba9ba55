#include "compile/memory/storage/carried_values.h"

#include <algorithm>

namespace plimsoll::compile {
namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;

// Whether the node's kernel reads each element of what the body was given before it writes the
// result there.
bool OverwritesAsItReads(const Graph& graph, const kernels::Backend& backend, NodeId id,
                         const CarriedValue& carried,
                         const std::function<bool(ValueId)>& in_given) {
  const Node& node = graph[id];
  const bool one_operand = std::ranges::count_if(node.inputs, in_given) == 1;
  if (!SubgraphsOf(node).empty() || !IsOrdinary(node.memory) || !one_operand) return false;
  const std::vector<kernels::InPlacePair> pairs = backend.InPlacePairs(graph, id);
  return std::ranges::any_of(pairs, [&](const kernels::InPlacePair& pair) {
    return node.outputs[static_cast<size_t>(pair.output)] == carried.result &&
           node.inputs[static_cast<size_t>(pair.input)] == carried.input;
  });
}

}  // namespace

bool IsReadBeforeItIsMade(const Graph& graph, const kernels::Backend& backend,
                          const CarriedInBody& about,
                          const std::function<StorageId(ValueId)>& storage_of) {
  const StorageId given = storage_of(about.carried.input);
  const StorageId made = storage_of(about.carried.result);
  const auto in_given = [&](ValueId value) { return value.valid() && storage_of(value) == given; };
  if (std::ranges::any_of(graph[about.body].outputs, in_given)) return false;
  const std::vector<NodeId>& nodes = graph[about.body].nodes;
  const auto writes = [&](NodeId id) {
    return std::ranges::any_of(graph[id].outputs, [&](ValueId output) {
      return output.valid() && storage_of(output) == made;
    });
  };
  const auto first = std::ranges::find_if(nodes, writes);
  if (first == nodes.end()) return false;
  const auto first_write = static_cast<size_t>(first - nodes.begin());
  for (size_t i = first_write + 1; i < nodes.size(); ++i) {
    if (std::ranges::any_of(about.reads[i], in_given)) return false;
  }
  return std::ranges::none_of(about.reads[first_write], in_given) ||
         OverwritesAsItReads(graph, backend, *first, about.carried, in_given);
}

}  // namespace plimsoll::compile
