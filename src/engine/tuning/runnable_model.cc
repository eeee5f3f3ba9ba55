#include "engine/tuning/runnable_model.h"

#include <cstring>
#include <random>
#include <vector>

#include "engine/run/executable.h"
#include "kernels/element_types.h"
#include "plimsoll/base/text.h"

namespace plimsoll::engine {
namespace {

using kernels::HostTensor;

constexpr int64_t kPage = 4096;

// Everything that a run needs, at addresses that stay.
struct TrialMemory {
  std::unique_ptr<const Executable> executable;
  HostTensor arena;
  Executable::Addresses addresses;
  std::vector<HostTensor> inputs;
  std::vector<const void*> read;
  std::vector<void*> written;

  Status Run() { return executable->Run(addresses, {.inputs = read, .outputs = written}); }
};

Result<HostTensor> ZeroTensor(const graph::ValueType& type) {
  PLIMSOLL_ASSIGN(HostTensor tensor,
                  kernels::AllocateOnHeap(type.data_type, graph::StaticDims(*type.shape)));
  std::memset(tensor.data.get(), 0, static_cast<size_t>(tensor.size().value()));
  return tensor;
}

Result<HostTensor> MadeUpInput(const graph::ValueType& type, uint32_t seed) {
  PLIMSOLL_ASSIGN(HostTensor tensor, ZeroTensor(type));
  if (!graph::IsFloating(type.data_type)) return tensor;
  std::mt19937 random(seed);
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    kernels::StoreDouble(type.data_type, tensor.data.get(), i,
                         static_cast<double>(random() % 2001) / 1000.0 - 1.0);
  }
  return tensor;
}

}  // namespace

Result<compile::RunnableModel> MakeRunnableModel(compile::CompiledModel model,
                                                 std::shared_ptr<const void> constants) {
  auto memory = std::make_shared<TrialMemory>();
  PLIMSOLL_ASSIGN(memory->executable,
                  Executable::Build(std::move(model), kernels::ToHostTensor, std::move(constants)));
  const Program& program = memory->executable->program();
  if (!program.batches.empty()) {
    return Error{.kind = ErrorKind::kUnsupported,
                 .code = "tuning.batches",
                 .what = "cannot measure the graph",
                 .where = "graph",
                 .why = "a run executes one of its batches",
                 .remedy = "tune its operators one by one"};
  }
  PLIMSOLL_ASSIGN(memory->arena, kernels::AllocateOnHeap(graph::DataType::kUint8,
                                                         {program.total().value() + kPage}));
  auto* const begin = static_cast<std::byte*>(memory->arena.data.get());
  std::byte* const arena = begin + (kPage - reinterpret_cast<intptr_t>(begin) % kPage) % kPage;
  memory->addresses = memory->executable->Bind(arena, AreasBehind(program, arena));
  const graph::Graph& graph = memory->executable->model().graph;
  for (const graph::ValueId input : graph.root().inputs) {
    PLIMSOLL_ASSIGN(HostTensor tensor,
                    MadeUpInput(graph[input].type, static_cast<uint32_t>(memory->inputs.size())));
    memory->read.push_back(tensor.data.get());
    memory->inputs.push_back(std::move(tensor));
  }
  compile::RunnableModel runnable;
  for (const graph::ValueId output : graph.root().outputs) {
    PLIMSOLL_ASSIGN(HostTensor tensor, ZeroTensor(graph[output].type));
    memory->written.push_back(tensor.data.get());
    runnable.outputs.push_back(std::move(tensor));
  }
  runnable.run = [memory] { return memory->Run(); };
  return runnable;
}

}  // namespace plimsoll::engine
