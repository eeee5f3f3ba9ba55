#include "engine/weights/mapped_weights.h"

#include "base/mapped_pages.h"
#include "graph/operator_row.h"

namespace plimsoll::engine {
namespace {

// Additions and multiplications for each byte of weights from which on they are given back: a core
// does some 20 in the time in which a byte's share of a page is found again.
constexpr int64_t kOperationsPerByte = 128;
constexpr size_t kLeastBytes = size_t{64} << 10;
// Tables from this size on, and what the program does for each row that is read: a core takes some
// hundred times as long for it as for finding a page again.
constexpr size_t kLeastTable = size_t{8} << 20;
constexpr int64_t kOperationsPerRow = int64_t{1} << 24;

using ByteSpan = std::span<const std::byte>;

// Of a task that runs a node; 0 where they are not counted.
int64_t OperationsOf(const Task& task, const compile::CompiledModel& model) {
  if (task.kind != Task::Kind::kRun) return 0;
  const graph::Node& node = model.graph[task.node];
  const auto operations = graph::FactsOf(node).operations;
  return operations == nullptr ? 0 : operations(model.graph, node);
}

int64_t OperationsOf(const Program& program, const compile::CompiledModel& model) {
  int64_t sum = 0;
  for (const Task& task : program.tasks) {
    if (__builtin_add_overflow(sum, OperationsOf(task, model), &sum)) return kSaturated;
  }
  return sum;
}

// What a task reads of constants that lie as the model has them, and gives back; none where its
// work is small. `operations`: the whole program's.
std::vector<ByteSpan> WeightsOf(const Task& task, const compile::CompiledModel& model,
                                const Program& program, int64_t operations,
                                std::span<const kernels::HostTensor> constants) {
  if (task.kind != Task::Kind::kRun) return {};
  std::vector<ByteSpan> read;
  std::vector<ByteSpan> tables;
  int64_t sum = 0;
  for (size_t i = 0; i < task.inputs; ++i) {
    const Place& place = program.operands[task.first + i];
    if (place.base != Place::Base::kConstant) continue;
    const auto value = static_cast<size_t>(place.index);
    const ByteSpan bytes = model.graph[model.graph.values[value].constant].bytes;
    if (bytes.size() < kLeastBytes || constants[value].data.get() != bytes.data()) continue;
    if (const int64_t rows = task.kernel->rows_read(i); rows > 0) {
      const bool long_work = operations / kOperationsPerRow >= rows;
      if (bytes.size() >= kLeastTable && long_work) tables.push_back(bytes);
      continue;
    }
    read.push_back(bytes);
    sum += static_cast<int64_t>(bytes.size());
  }
  if (OperationsOf(task, model) / kOperationsPerByte < sum) read.clear();
  read.insert(read.end(), tables.begin(), tables.end());
  return read;
}

}  // namespace

MappedWeights::MappedWeights(const compile::CompiledModel& model, const Program& program,
                             std::span<const kernels::HostTensor> constants) {
  std::vector<ByteSpan> all;
  std::vector<size_t> task_of;
  const int64_t operations = OperationsOf(program, model);
  for (size_t i = 0; i < program.tasks.size(); ++i) {
    for (const ByteSpan bytes :
         WeightsOf(program.tasks[i], model, program, operations, constants)) {
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
