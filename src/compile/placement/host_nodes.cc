#include "compile/placement/host_nodes.h"

#include <algorithm>

#include "compile/passes/bodies.h"
#include "compile/shapes/known_tensor.h"
#include "graph/operator_row.h"
#include "kernels/catalogue.h"

namespace plimsoll::compile {
namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;

// What the host computes faster than a transfer takes.
constexpr Bytes kSmall = KiB(4);

bool IsIntegerOrBool(graph::DataType type) {
  using graph::DataType;
  switch (type) {
    case DataType::kBool:
    case DataType::kInt8:
    case DataType::kInt16:
    case DataType::kInt32:
    case DataType::kInt64:
    case DataType::kUint8:
    case DataType::kUint16:
    case DataType::kUint32:
    case DataType::kUint64:
      return true;
    default:
      return false;
  }
}

class HostNodeFinder {
 public:
  HostNodeFinder(const Graph& graph, const Target& target,
                 const std::vector<VariableUpdate>& updates)
      : graph_(graph),
        target_(target),
        on_host_(graph.nodes.size()),
        fixed_(graph.nodes.size()),
        readers_(graph.values.size()),
        returned_(graph.values.size()),
        given_(graph.values.size()) {
    const auto& inputs = graph.root().inputs;
    for (const ValueId input : inputs) given_[input.index()] = true;
    for (const VariableUpdate& update : updates) given_[inputs[update.input].index()] = false;
    for (const graph::Subgraph& body : graph.subgraphs) {
      for (const ValueId output : body.outputs) {
        if (output.valid()) returned_[output.index()] = true;
      }
      for (const NodeId id : body.nodes) {
        const auto& read = graph[id].inputs;
        for (size_t i = 0; i < read.size(); ++i) {
          if (read[i].valid()) readers_[read[i].index()].push_back({id, i});
        }
      }
    }
  }

  std::vector<bool> Find() {
    for (const graph::Subgraph& body : graph_.subgraphs) {
      for (const NodeId id : body.nodes) Propose(id);
    }
    // A node that goes to the device after all may take those with it that feed it or read from it.
    while (!open_.empty()) {
      const NodeId id = open_.back();
      open_.pop_back();
      if (!on_host_[id.index()] || fixed_[id.index()] || CostsNoTransfer(id)) continue;
      on_host_[id.index()] = false;
      for (const ValueId input : graph_[id].inputs) {
        if (input.valid() && graph_[input].producer.valid())
          open_.push_back(graph_[input].producer);
      }
      for (const ValueId output : graph_[id].outputs) {
        if (!output.valid()) continue;
        for (const Reader& reader : readers_[output.index()]) open_.push_back(reader.node);
      }
    }
    return std::move(on_host_);
  }

 private:
  struct Reader {
    NodeId node;
    size_t input = 0;
  };

  void Propose(NodeId id) {
    const Node& node = graph_[id];
    if (!MayRunOnHost(node) || IsTransfer(node) || !kernels::HostBackend().Supports(graph_, id)) {
      return;
    }
    fixed_[id.index()] = target_.RunsOnHost(node) || !target_.backend->Supports(graph_, id);
    on_host_[id.index()] = fixed_[id.index()] || IsSmallArithmetic(node);
    if (on_host_[id.index()]) open_.push_back(id);
  }

  bool IsSmallArithmetic(const Node& node) const {
    const auto small = [&](ValueId value) {
      return !value.valid() || PlannedSize(graph_[value].type) <= kSmall;
    };
    const auto integer = [&](ValueId value) {
      return !value.valid() || IsIntegerOrBool(graph_[value].type.data_type);
    };
    return IsOrdinary(node.memory) && kernels::IsDeterministic(node) &&
           std::ranges::all_of(node.inputs, small) && std::ranges::all_of(node.outputs, small) &&
           std::ranges::all_of(node.outputs, integer);
  }

  bool CostsNoTransfer(NodeId id) const {
    const Node& node = graph_[id];
    return std::ranges::all_of(node.inputs, [&](ValueId value) { return IsOnHost(value); }) &&
           std::ranges::all_of(node.outputs,
                               [&](ValueId value) { return IsReadOnHostOnly(value); });
  }

  bool IsOnHost(ValueId value) const {
    if (!value.valid() || graph_[value].constant.valid() || given_[value.index()]) return true;
    const NodeId producer = graph_[value].producer;
    return producer.valid() && on_host_[producer.index()];
  }

  bool IsReadOnHostOnly(ValueId value) const {
    if (!value.valid()) return true;
    return !returned_[value.index()] &&
           std::ranges::all_of(readers_[value.index()], [&](const Reader& reader) {
             return on_host_[reader.node.index()] ||
                    NeedsOnHost(graph_, graph_[reader.node], reader.input);
           });
  }

  const Graph& graph_;
  const Target& target_;
  std::vector<bool> on_host_;                 // by node
  std::vector<bool> fixed_;                   // by node: whatever that costs
  std::vector<std::vector<Reader>> readers_;  // by value
  std::vector<bool> returned_;                // by value: by a body
  std::vector<bool> given_;                   // by value: by the caller, who has it on the host
  std::vector<NodeId> open_;
};

}  // namespace

bool NeedsOnHost(const Graph& graph, const Node& node, size_t input) {
  const ValueId value = node.inputs[input];
  if (!value.valid() || graph[value].constant.valid()) return false;
  if (!graph::Contains(graph::FactsOf(node).host_inputs, input)) return false;
  // The executor itself reads conditions.
  return !SubgraphsOf(node).empty() || !KnownTensor(graph[value]);
}

std::vector<bool> FindHostNodes(const Graph& graph, const Target& target,
                                const std::vector<VariableUpdate>& updates) {
  if (target.host_reachable) return std::vector<bool>(graph.nodes.size());
  return HostNodeFinder(graph, target, updates).Find();
}

}  // namespace plimsoll::compile
