#include "kernels/run_once.h"

#include "kernels/kernel_table.h"

namespace plimsoll::kernels {
namespace {

TensorInfo InfoOf(const HostTensor& tensor) {
  TensorInfo info;
  info.type = tensor.type;
  info.dims = tensor.dims;
  info.data = tensor.data.get();
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

Result<std::vector<HostTensor>> RunOnce(const graph::Graph& graph, graph::NodeId id,
                                        const std::vector<HostTensor>& inputs,
                                        const AllocateTensor& allocate, bool deterministic,
                                        const RunPrepared& run) {
  KernelSite site{.graph = graph, .id = id, .inputs = {}, .outputs = {}};
  site.deterministic = deterministic;
  std::vector<const void*> read;
  for (const HostTensor& input : inputs) {
    site.inputs.push_back(InfoOf(input));
    read.push_back(input.data.get());
  }
  for (const graph::ValueId output : graph[id].outputs) {
    site.outputs.push_back(output.valid() ? InfoOf(graph[output].type) : TensorInfo());
  }
  PLIMSOLL_ASSIGN(const KernelPointer kernel, PrepareKernel(site));
  std::vector<HostTensor> made(site.outputs.size());
  std::vector<void*> written;
  for (size_t i = 0; i < made.size(); ++i) {
    if (site.outputs[i].present()) {
      PLIMSOLL_ASSIGN(made[i], allocate(site.outputs[i].type, site.outputs[i].dims));
    }
    written.push_back(made[i].data.get());
  }
  PLIMSOLL_ASSIGN(const HostTensor workspace,
                  allocate(graph::DataType::kUint8, {kernel->workspace().value()}));
  const KernelCall call{.inputs = read, .outputs = written, .workspace = workspace.data.get()};
  PLIMSOLL_TRY(run ? run(site, *kernel, call) : kernel->Run(call));
  return made;
}

}  // namespace plimsoll::kernels
