#include "engine/run/executable.h"

#include "base/mapped_pages.h"
#include "plimsoll/base/text.h"

namespace plimsoll::engine {
namespace {

using graph::ValueId;

Error Cancelled(const graph::Graph& graph, const Task& task) {
  return Error{
      .kind = ErrorKind::kRunFailed,
      .code = "run.cancelled",
      .what = "the run was cancelled",
      .where = task.node.valid() ? StrCat("before ", graph::Describe(graph, task.node)) : "",
      .why = "",
      .remedy = ""};
}

// Whether a run executes the task.
bool Runs(const Task& task, const Executable::Call& call) {
  return task.batch == kEveryBatch || task.batch == call.batch;
}

Status Clear(void* at, Bytes bytes, kernels::Queue& queue, ClearCost* cost) {
  if (cost == nullptr) return queue.Fill(at, 0, bytes);
  const auto begin = std::chrono::steady_clock::now();
  PLIMSOLL_TRY(queue.Fill(at, 0, bytes));
  cost->time += std::chrono::steady_clock::now() - begin;
  cost->bytes += bytes;
  ++cost->clears;
  return {};
}

kernels::KernelCall CallOf(const Task& task, void* const* operands) {
  return {.inputs = {operands, task.inputs},
          .outputs = {operands + task.inputs, task.outputs},
          .workspace = operands[task.inputs + task.outputs]};
}

kernels::Queue& QueueOf(const Executable::Call& call) {
  static kernels::HostQueue host;
  return call.queue != nullptr ? *call.queue : host;
}

// What the host needs to know of the device's memory to go on: waits for it.
Result<bool> FetchCondition(const void* at, kernels::Queue& queue, TaskMonitor* monitor) {
  bool condition = false;
  PLIMSOLL_TRY(queue.Copy(&condition, at, Bytes(sizeof(condition))));
  PLIMSOLL_TRY(FinishWithin(monitor, TaskMonitor::Wait::kEvent, queue));
  return condition;
}

}  // namespace

Executable::Executable(compile::CompiledModel model, std::shared_ptr<const void> packed,
                       DeviceSide side)
    : packed_(std::move(packed)),
      side_(std::move(side)),
      model_(std::move(model)),
      program_(BuildProgram(model_)),
      port_uses_(compile::FindPortUses(model_.graph, model_.planned.buffers)) {
  for (size_t i = 0; i < program_.operands.size(); ++i) {
    const Place::Base base = program_.operands[i].base;
    if (base == Place::Base::kInput || base == Place::Base::kOutput) {
      port_operands_.push_back(static_cast<uint32_t>(i));
    }
  }
}

Result<std::unique_ptr<const Executable>> Executable::Build(compile::CompiledModel model,
                                                            const HoldConstant& hold,
                                                            std::shared_ptr<const void> packed,
                                                            DeviceSide side) {
  std::unique_ptr<Executable> built(
      new Executable(std::move(model), std::move(packed), std::move(side)));
  PLIMSOLL_TRY(built->PlaceConstants(hold));
  return std::unique_ptr<const Executable>(std::move(built));
}

Status Executable::PlaceConstants(const HoldConstant& hold) {
  constants_.resize(model_.graph.values.size());
  std::vector<std::span<const std::byte>> copied;
  for (const Task& task : program_.tasks) {
    const size_t operands = task.kind == Task::Kind::kRun ? task.inputs : 1;
    for (size_t i = 0; i < operands; ++i) {
      const Place& place = program_.operands[task.first + i];
      if (place.base != Place::Base::kConstant) continue;
      const bool packed = task.kind == Task::Kind::kRun && i < 64 &&
                          ((model_.packed_inputs[task.node.index()] >> i) & 1) != 0;
      kernels::HostTensor& held = constants_[static_cast<size_t>(place.index)];
      if (packed || held.data != nullptr) continue;
      const graph::Value& value = model_.graph.values[static_cast<size_t>(place.index)];
      const graph::ConstantTensor& constant = model_.graph[value.constant];
      PLIMSOLL_ASSIGN(held, hold(constant));
      if (held.data.get() != constant.bytes.data()) copied.push_back(constant.bytes);
    }
  }
  DropMappedPages(copied);
  return {};
}

void Executable::AddTo(HeldWeights& weights) const {
  for (const kernels::HostTensor& constant : constants_) {
    if (constant.data != nullptr) weights.emplace(constant.data.get(), constant.size());
  }
}

void* Executable::AddressOf(const Place& place, std::byte* arena,
                            std::span<std::byte* const> areas) const {
  const auto index = static_cast<size_t>(place.index);
  switch (place.base) {
    case Place::Base::kArena:
      return arena + place.offset;
    case Place::Base::kArea:
      return areas[index] + place.offset;
    case Place::Base::kConstant:
      return constants_[index].data.get();
    default:
      return nullptr;
  }
}

Executable::Addresses Executable::Bind(std::byte* arena, std::span<std::byte* const> areas) const {
  Addresses addresses;
  for (const Place& place : program_.operands) {
    addresses.operands.push_back(AddressOf(place, arena, areas));
  }
  return addresses;
}

void Executable::SetPorts(Addresses& addresses, const Call& call) const {
  for (const uint32_t operand : port_operands_) {
    const Place& place = program_.operands[operand];
    const auto index = static_cast<size_t>(place.index);
    void* const base = place.base == Place::Base::kInput ? const_cast<void*>(call.inputs[index])
                                                         : call.outputs[index];
    addresses.operands[operand] =
        base == nullptr ? nullptr : static_cast<std::byte*>(base) + place.offset;
  }
}

Status Executable::RunTask(const Task& task, const Addresses& addresses, kernels::Queue& queue,
                           ClearCost* clearing) const {
  void* const* operands = addresses.operands.data() + task.first;
  switch (task.kind) {
    case Task::Kind::kCopy:
      return queue.Copy(operands[1], operands[0], Bytes(task.bytes));
    case Task::Kind::kTransfer: {
      const Transfer& transfer = program_.transfers[task.target];
      for (size_t i = 0; i < transfer.sizes.size(); ++i) {
        PLIMSOLL_TRY(queue.Copy(operands[2 * i + 1], operands[2 * i], transfer.sizes[i]));
      }
      return {};
    }
    case Task::Kind::kClear:
      return Clear(operands[0], Bytes(task.bytes), queue, clearing);
    default:
      return queue.Run(*task.kernel, CallOf(task, operands));
  }
}

Status Executable::RunMonitored(size_t index, const Addresses& addresses, kernels::Queue& queue,
                                const Call& call) const {
  const Task& task = program_.tasks[index];
  const bool updates = index >= program_.first_update;
  if (!updates) PLIMSOLL_TRY(call.monitor->CheckRunTime(model_.graph, task.node));
  if (task.kind != Task::Kind::kRun) return RunTask(task, addresses, queue, call.clearing);
  return call.monitor->Run({.graph = model_.graph,
                            .node = task.node,
                            .kernel = *task.kernel,
                            .call = CallOf(task, addresses.operands.data() + task.first),
                            .queue = queue,
                            .later = call.queue != nullptr,
                            .updates_variables = updates});
}

template <typename Before>
Status Executable::Walk(const Program::Range& tasks, const Addresses& addresses, const Call& call,
                        const Before& before) const {
  kernels::Queue& queue = QueueOf(call);
  for (size_t i = tasks.begin; i < tasks.end;) {
    const Task& task = program_.tasks[i];
    if (!Runs(task, call)) {
      ++i;
      continue;
    }
    const bool may_stop = (i == 0 || i < program_.first_update) && call.cancelled != nullptr;
    if (may_stop && call.cancelled->load(std::memory_order_relaxed)) {
      return Cancelled(model_.graph, task);
    }
    // What fails before the first variable has its new value must be known by then.
    if (i == program_.first_update) {
      PLIMSOLL_TRY(FinishWithin(call.monitor, TaskMonitor::Wait::kStream, queue));
    }
    before(task);
    if (task.kind == Task::Kind::kSkip) {
      i = task.target;
    } else if (task.kind == Task::Kind::kSkipUnless) {
      PLIMSOLL_ASSIGN(const bool runs,
                      FetchCondition(addresses.operands[task.first], queue, call.monitor));
      i = runs ? i + 1 : task.target;
    } else {
      Status done = call.monitor == nullptr ? RunTask(task, addresses, queue, call.clearing)
                                            : RunMonitored(i, addresses, queue, call);
      if (!done.ok()) {
        if (call.half_applied != nullptr) *call.half_applied = i >= program_.first_update;
        return done;
      }
      ++i;
    }
  }
  return {};
}

template <typename Before>
Status Executable::RunAll(Addresses& addresses, const Call& call, const Before& before) const {
  SetPorts(addresses, call);
  Status walked = Walk(program_.AllTasks(), addresses, call, before);
  // A step that updates variables goes to its end.
  const bool updates = program_.first_update < program_.tasks.size();
  TaskMonitor* const monitor = updates ? nullptr : call.monitor;
  const Status finished = FinishWithin(monitor, TaskMonitor::Wait::kStream, QueueOf(call));
  if (monitor != nullptr && walked.ok() && finished.ok()) {
    walked = monitor->CheckRunTime(model_.graph, {});
  }
  if (!walked.ok() || finished.ok()) return walked;
  if (call.half_applied != nullptr) {
    *call.half_applied = updates;
  }
  return finished;
}

Status Executable::Run(Addresses& addresses, const Call& call) const {
  return RunAll(addresses, call, [](const Task&) {});
}

Status Executable::Run(Addresses& addresses, const Call& call, const BeforeTask& before) const {
  return RunAll(addresses, call, before);
}

Status Executable::RunTasks(const Program::Range& tasks, const Addresses& addresses,
                            const Call& call, const BeforeTask& before) const {
  return Walk(tasks, addresses, call, [&](const Task& task) {
    if (before) before(task);
  });
}

}  // namespace plimsoll::engine
