#include "compile/zero_copy.h"

#include <algorithm>

#include "plimsoll/base/text.h"

namespace plimsoll::compile {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;

bool CarriesMultiBatchShape(const Graph& graph, ValueId input) {
  for (const auto& [key, value] : graph.metadata) {
    if (key != "plimsoll.multi_batch_shape") continue;
    const auto names = Split(value, ',');
    return std::find(names.begin(), names.end(), graph[input].name) != names.end();
  }
  return false;
}

bool IsNodeAndPeerNodeTaskSupportZeroCopy(const Graph& graph, const Block& block,
                                          std::string& reason) {
  for (const ValueId value : block.values) {
    const NodeId producer = graph[value].producer;
    if (producer.valid() && graph[producer].memory.no_address_refresh) {
      reason = StrCat(Describe(graph, producer), ", which writes it, cannot take a new address");
      return false;
    }
  }
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const graph::Node& node = graph.nodes[i];
    if (!node.memory.no_address_refresh) continue;
    for (const ValueId input : node.inputs) {
      if (std::find(block.values.begin(), block.values.end(), input) == block.values.end())
        continue;
      reason = StrCat(Describe(graph, NodeId(i)), ", which reads it, cannot take a new address");
      return false;
    }
  }
  return true;
}

ZeroCopyVerdict JudgeZeroCopy(const Graph& graph, const Block& block, const ReuseOptions& reuse) {
  ZeroCopyVerdict verdict;
  verdict.allowed = IsNodeAndPeerNodeTaskSupportZeroCopy(graph, block, verdict.reason);
  if (!verdict.allowed) return verdict;
  const auto holds = [&](ValueId value) {
    return std::find(block.values.begin(), block.values.end(), value) != block.values.end();
  };
  for (const ValueId value : block.values) {
    if (CarriesMultiBatchShape(graph, value)) return {false, "it carries multi-batch shapes"};
  }
  for (const int input : reuse.multi_batch_inputs) {
    if (holds(graph.root().inputs[static_cast<size_t>(input)])) {
      return {false, "it carries multi-batch shapes: the gears determine its sizes"};
    }
  }
  return verdict;
}

}  // namespace plimsoll::compile
