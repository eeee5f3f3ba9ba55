#include "engine/weights/mapped_weights.h"

#include "base/mapped_pages.h"
#include "graph/operator_row.h"

namespace plimsoll::engine {
namespace {

// Additions and multiplications for each byte of weights from which on they are given back: a core
// does some 20 in the time in which a byte's share of a page is found again.
constexpr int64_t kOperationsPerByte = 128;
constexpr size_t kLeastBytes = size_t{64} << 10;

using ByteSpan = std::span<const std::byte>;

// What a task reads of constants that lie as the model has them; none where its work is small.
std::vector<ByteSpan> WeightsOf(const Task& task, const compile::CompiledModel& model,
                                const Program& program,
                                std::span<const kernels::HostTensor> constants) {
  if (task.kind != Task::Kind::kRun) return {};
  const graph::Node& node = model.graph[task.node];
  const auto operations = graph::FactsOf(node).operations;
  if (operations == nullptr) return {};
  std::vector<ByteSpan> read;
  int64_t sum = 0;
  for (size_t i = 0; i < task.inputs; ++i) {
    const Place& place = program.operands[task.first + i];
    if (place.base != Place::Base::kConstant) continue;
    const auto value = static_cast<size_t>(place.index);
    const ByteSpan bytes = model.graph[model.graph.values[value].constant].bytes;
    if (bytes.size() < kLeastBytes || constants[value].data.get() != bytes.data()) continue;
    read.push_back(bytes);
    sum += static_cast<int64_t>(bytes.size());
  }
  if (operations(model.graph, node) / kOperationsPerByte < sum) return {};
  return read;
}

}  // namespace

MappedWeights::MappedWeights(const compile::CompiledModel& model, const Program& program,
                             std::span<const kernels::HostTensor> constants) {
  std::vector<ByteSpan> all;
  std::vector<size_t> task_of;
  for (size_t i = 0; i < program.tasks.size(); ++i) {
    for (const ByteSpan bytes : WeightsOf(program.tasks[i], model, program, constants)) {
      all.push_back(bytes);
      task_of.push_back(i);
    }
  }
  if (all.empty()) return;
  const std::vector<bool> mapped = WhichLieInFile(std::span<const ByteSpan>(all));
  size_t next = 0;
  for (size_t task = 0; task < program.tasks.size(); ++task) {
    first_.push_back(bytes_.size());
    for (; next < all.size() && task_of[next] == task; ++next) {
      if (mapped[next]) bytes_.push_back(all[next]);
    }
  }
  first_.push_back(bytes_.size());
}

void MappedWeights::Drop(size_t task) const {
  for (size_t i = first_[task]; i < first_[task + 1]; ++i) DropPagesOfFile(bytes_[i]);
}

}  // namespace plimsoll::engine
