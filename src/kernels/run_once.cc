#include "kernels/run_once.h"

#include "kernels/kernel_table.h"

namespace plimsoll::kernels {
namespace {

TensorInfo InfoOf(const HostTensor& tensor, bool known) {
  TensorInfo info;
  info.type = tensor.type;
  info.dims = tensor.dims;
  if (known) info.data = tensor.data.get();
  return info;
}

TensorInfo InfoOf(const graph::ValueType& type) {
  TensorInfo info;
  info.type = type.data_type;
  info.sized = type.shape && graph::IsStatic(*type.shape);
  if (info.sized) info.dims = graph::StaticDims(*type.shape);
  return info;
}

}  // namespace

Result<PreparedNode> PrepareNode(const graph::Graph& graph, graph::NodeId id, InputTensors inputs,
                                 graph::InputSet known, bool deterministic) {
  PreparedNode node{.site = {.graph = graph, .id = id, .inputs = {}, .outputs = {}},
                    .kernel = nullptr};
  node.site.deterministic = deterministic;
  node.site.sizes_vary = true;
  node.site.inputs.reserve(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    node.site.inputs.push_back(
        inputs[i] == nullptr ? TensorInfo() : InfoOf(*inputs[i], graph::Contains(known, i)));
  }
  for (const graph::ValueId output : graph[id].outputs) {
    node.site.outputs.push_back(output.valid() ? InfoOf(graph[output].type) : TensorInfo());
  }
  PLIMSOLL_ASSIGN(node.kernel, PrepareKernel(node.site));
  return node;
}

Result<std::vector<HostTensor>> RunNode(const PreparedNode& node, InputTensors inputs,
                                        const AllocateTensor& allocate, const RunPrepared& run) {
  const std::vector<TensorInfo>& outputs = node.site.outputs;
  std::vector<const void*> read(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    read[i] = inputs[i] == nullptr ? nullptr : inputs[i]->data.get();
  }
  std::vector<HostTensor> made(outputs.size());
  std::vector<void*> written(outputs.size());
  for (size_t i = 0; i < made.size(); ++i) {
    if (!outputs[i].present()) continue;
    PLIMSOLL_ASSIGN(made[i], allocate(outputs[i].type, outputs[i].dims));
    written[i] = made[i].data.get();
  }
  HostTensor workspace;
  if (node.kernel->workspace() > Bytes(0)) {
    PLIMSOLL_ASSIGN(workspace,
                    allocate(graph::DataType::kUint8, {node.kernel->workspace().value()}));
  }
  const KernelCall call{.inputs = read, .outputs = written, .workspace = workspace.data.get()};
  PLIMSOLL_TRY(run ? run(node.site, *node.kernel, call) : node.kernel->Run(call));
  return made;
}

Result<std::vector<HostTensor>> RunOnce(const graph::Graph& graph, graph::NodeId id,
                                        const std::vector<HostTensor>& inputs,
                                        const AllocateTensor& allocate, bool deterministic) {
  std::vector<const HostTensor*> present(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].type != graph::DataType::kUndefined) present[i] = &inputs[i];
  }
  PLIMSOLL_ASSIGN(const PreparedNode node,
                  PrepareNode(graph, id, present, graph::kEveryInput, deterministic));
  return RunNode(node, present, allocate);
}

}  // namespace plimsoll::kernels
