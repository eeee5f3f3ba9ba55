#include "engine/node_by_node/kept_kernels.h"

#include <algorithm>
#include <cstring>

#include "compile/shapes/shapes.h"
#include "graph/content.h"
#include "graph/operator_row.h"

namespace plimsoll::engine {
namespace {

using graph::InputSet;
using graph::NodeId;
using graph::ValueId;
using kernels::HostTensor;
using kernels::InputTensors;
using kernels::PreparedNode;

std::span<const std::byte> BytesOf(const HostTensor& tensor) {
  return {static_cast<const std::byte*>(tensor.data.get()),
          static_cast<size_t>(tensor.size().value())};
}

bool HasSizes(const graph::Graph& graph, NodeId id) {
  return std::ranges::all_of(graph[id].outputs, [&](ValueId output) {
    if (!output.valid()) return true;
    const graph::ValueType& type = graph[output].type;
    return type.is_tensor() && type.shape && graph::IsStatic(*type.shape);
  });
}

// The constants among a node's inputs.
InputSet ConstantsOf(const graph::Graph& graph, NodeId id) {
  InputSet constants = 0;
  const std::vector<ValueId>& inputs = graph[id].inputs;
  for (size_t i = 0; i < std::min<size_t>(inputs.size(), 32); ++i) {
    if (inputs[i].valid() && graph[inputs[i]].constant.valid()) constants |= graph::Inputs(i);
  }
  return constants;
}

}  // namespace

bool KeptKernels::Fits(const Kept& kept, InputTensors inputs, bool deterministic) {
  if (!kept.node || kept.node->site.deterministic != deterministic) return false;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const kernels::TensorInfo& then = kept.node->site.inputs[i];
    if (inputs[i] == nullptr) continue;
    if (inputs[i]->type != then.type || inputs[i]->dims != then.dims) return false;
    const std::vector<std::byte>& seen = kept.seen[i];
    if (!seen.empty() && std::memcmp(seen.data(), inputs[i]->data.get(), seen.size()) != 0) {
      return false;
    }
  }
  return true;
}

// With the elements of the inputs in `known`, and of constants.
Status KeptKernels::Infer(NodeId id, InputTensors inputs, InputSet known) {
  const std::lock_guard lock(inferring_);
  const std::vector<ValueId>& values = graph_[id].inputs;
  const auto set = [&](bool shown) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i] == nullptr || graph_[values[i]].constant.valid()) continue;
      const bool small = inputs[i]->elements() <= graph::kMaxContentElements;
      auto& content = graph_[values[i]].content;
      content.reset();
      if (shown && small && graph::Contains(known, i)) {
        content = graph::ContentOf(kernels::ToConstant(*inputs[i]));
      }
    }
  };
  set(true);
  Status inferred = compile::InferNode(graph_, id);
  set(false);
  return inferred;
}

// None where sizes of the inputs do not tell those of the results.
Result<std::optional<PreparedNode>> KeptKernels::PrepareForSizes(NodeId id, InputTensors inputs,
                                                                 bool deterministic) {
  const InputSet asked = graph::FactsOf(graph_[id]).host_inputs;
  PLIMSOLL_TRY(Infer(id, inputs, asked));
  if (!HasSizes(graph_, id)) return std::optional<PreparedNode>();
  auto node =
      kernels::PrepareNode(graph_, id, inputs, asked | ConstantsOf(graph_, id), deterministic);
  // A maker that asks for elements gets them.
  return node.ok() ? std::optional(*std::move(node)) : std::nullopt;
}

Result<PreparedNode> KeptKernels::PrepareForElements(NodeId id, InputTensors inputs,
                                                     bool deterministic) {
  PLIMSOLL_TRY(Infer(id, inputs, graph::FactsOf(graph_[id]).host_inputs));
  PLIMSOLL_ASSIGN(PreparedNode node,
                  kernels::PrepareNode(graph_, id, inputs, graph::kEveryInput, deterministic));
  const auto sized = [](const kernels::TensorInfo& output) {
    return output.sized || !output.present();
  };
  if (std::ranges::all_of(node.site.outputs, sized)) return node;
  PLIMSOLL_TRY(Infer(id, inputs, graph::kEveryInput));
  return kernels::PrepareNode(graph_, id, inputs, graph::kEveryInput, deterministic);
}

void KeptKernels::Keep(NodeId id, InputTensors inputs, PreparedNode node) {
  const InputSet asked = graph::FactsOf(graph_[id]).host_inputs;
  const InputSet constants = ConstantsOf(graph_, id);
  Kept& kept = kept_[id.index()];
  kept.seen.assign(inputs.size(), {});
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] == nullptr) continue;
    node.site.inputs[i].data = nullptr;
    if (!graph::Contains(asked, i) || graph::Contains(constants, i)) continue;
    const std::span<const std::byte> bytes = BytesOf(*inputs[i]);
    kept.seen[i].assign(bytes.begin(), bytes.end());
  }
  kept.node.emplace(std::move(node));
}

Result<std::vector<HostTensor>> KeptKernels::Run(NodeId id, InputTensors inputs,
                                                 const kernels::AllocateTensor& allocate,
                                                 bool deterministic, bool as_view,
                                                 const kernels::RunPrepared& run) {
  const auto run_node = [&](const PreparedNode& node) -> Result<std::vector<HostTensor>> {
    if (!as_view) return kernels::RunNode(node, inputs, allocate, run);
    const kernels::TensorInfo& output = node.site.outputs[0];
    return std::vector<HostTensor>{
        {.type = output.type, .dims = output.dims, .data = inputs[0]->data}};
  };
  Kept& kept = kept_[id.index()];
  if (Fits(kept, inputs, deterministic)) return run_node(*kept.node);
  ++prepared_;
  kept.node.reset();
  if (!kept.follows_elements) {
    PLIMSOLL_ASSIGN(auto node, PrepareForSizes(id, inputs, deterministic));
    if (node) {
      Keep(id, inputs, *std::move(node));
      return run_node(*kept.node);
    }
  }
  PLIMSOLL_ASSIGN(const PreparedNode node, PrepareForElements(id, inputs, deterministic));
  kept.follows_elements = true;
  return run_node(node);
}

}  // namespace plimsoll::engine
