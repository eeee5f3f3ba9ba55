#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kernels/cpu/one_node.h"
#include "kernels/kernel_table.h"

// For tests: a kernel prepared with constants and a place for packed weights, as an engine does it.
namespace plimsoll::kernels::cpu {

class HeapPackedWeights final : public PackedWeights {
 public:
  Result<const void*> Pack(const void* data, Bytes, std::string_view layout, Bytes packed,
                           const Fill& fill) override {
    HostTensor& form = forms_[{data, std::string(layout)}];
    if (form.data == nullptr) {
      form = *AllocateOnHeap(graph::DataType::kUint8, {packed.value()});
      PLIMSOLL_TRY(fill(form.data.get()));
    }
    return static_cast<const void*>(form.data.get());
  }
  void Forget(const void*, Bytes) override {}
  size_t size() const { return forms_.size(); }

 private:
  std::map<std::pair<const void*, std::string>, HostTensor> forms_;
};

struct PreparedNode {
  graph::Graph graph;
  std::vector<HostTensor> inputs;
  Dims output;
  KernelPointer kernel;

  // The output's elements; the output is written over input `over` where that is not negative.
  template <typename T = float>
  Result<std::vector<T>> Run(int over = -1) const {
    std::vector<const void*> from;
    for (const HostTensor& input : inputs) from.push_back(input.data.get());
    const HostTensor made =
        over < 0 ? *AllocateOnHeap(kDataTypeOf<T>, output) : inputs[static_cast<size_t>(over)];
    const HostTensor workspace =
        *AllocateOnHeap(graph::DataType::kUint8, {kernel->workspace().value()});
    std::fill_n(static_cast<uint8_t*>(workspace.data.get()), workspace.elements(), uint8_t{0xff});
    void* const to[] = {made.data.get()};
    PLIMSOLL_TRY(kernel->Run({.inputs = from, .outputs = to, .workspace = workspace.data.get()}));
    return ElementsOf<T>(made);
  }
};

// Infers the shape and prepares the kernel. Inputs in `constants` are constant; `weights` may be
// null.
inline Result<PreparedNode> Prepare(const OneNode& node, std::vector<HostTensor> inputs,
                                    const std::set<size_t>& constants = {},
                                    PackedWeights* weights = nullptr,
                                    Bytes most_workspace = Bytes(kSaturated),
                                    bool deterministic = false, std::string_view alternative = {},
                                    bool sizes_vary = false) {
  PreparedNode prepared{
      .graph = node.Build(inputs), .inputs = std::move(inputs), .output = {}, .kernel = nullptr};
  prepared.graph.nodes[0].version = node.version;
  graph::InferContext context(prepared.graph, graph::NodeId(0), nullptr);
  PLIMSOLL_TRY(graph::FindOperator(node.domain, node.op, node.version)->infer(context));
  KernelSite site{.graph = prepared.graph,
                  .id = graph::NodeId(0),
                  .inputs = {},
                  .outputs = {},
                  .packed_weights = weights,
                  .most_workspace = most_workspace,
                  .alternatives = {.wanted = alternative},
                  .sizes_vary = sizes_vary,
                  .deterministic = deterministic};
  for (size_t i = 0; i < prepared.inputs.size(); ++i) {
    const HostTensor& input = prepared.inputs[i];
    const bool constant = constants.contains(i);
    site.inputs.push_back({.type = input.type,
                           .dims = input.dims,
                           .data = constant ? input.data.get() : nullptr,
                           .constant = constant});
  }
  const graph::ValueType& made = prepared.graph[prepared.graph.nodes[0].outputs[0]].type;
  prepared.output = graph::StaticDims(*made.shape);
  site.outputs.push_back({.type = made.data_type, .dims = prepared.output});
  PLIMSOLL_ASSIGN(prepared.kernel, PrepareKernel(site));
  return prepared;
}

// Elements between -1 and 1 that repeat with no small period.
inline HostTensor Wavy(Dims dims, int seed = 0) {
  HostTensor tensor = *AllocateOnHeap(graph::DataType::kFloat32, std::move(dims));
  auto* const elements = static_cast<float*>(tensor.data.get());
  uint32_t state = 12345u + static_cast<uint32_t>(seed) * 77u;
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    state = state * 1664525u + 1013904223u;
    elements[i] = static_cast<float>(state >> 8) / 8388608.0f - 1.0f;
  }
  return tensor;
}

}  // namespace plimsoll::kernels::cpu
