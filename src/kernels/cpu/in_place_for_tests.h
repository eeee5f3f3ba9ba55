#pragma once

#include "kernels/cpu/one_node.h"
#include "kernels/kernel_table.h"

namespace plimsoll::kernels::cpu {

// Runs a node with its only output written over input `over`, which is of the output's type and
// shape; gives that tensor.
inline Result<HostTensor> RunInPlace(const OneNode& node, const std::vector<HostTensor>& inputs,
                                     size_t over) {
  const graph::Graph graph = node.Build(inputs);
  KernelSite site{.graph = graph, .id = graph::NodeId(0), .inputs = {}, .outputs = {}};
  std::vector<const void*> from;
  for (const HostTensor& input : inputs) {
    site.inputs.push_back({.type = input.type, .dims = input.dims, .data = input.data.get()});
    from.push_back(input.data.get());
  }
  site.outputs.push_back({.type = inputs[over].type, .dims = inputs[over].dims});
  PLIMSOLL_ASSIGN(const KernelPointer kernel, PrepareKernel(site));
  PLIMSOLL_ASSIGN(const HostTensor workspace,
                  AllocateOnHeap(graph::DataType::kUint8, {kernel->workspace().value()}));
  void* const to[] = {inputs[over].data.get()};
  PLIMSOLL_TRY(kernel->Run({.inputs = from, .outputs = to, .workspace = workspace.data.get()}));
  return inputs[over];
}

}  // namespace plimsoll::kernels::cpu
