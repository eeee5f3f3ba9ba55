#include "engine/run/executable.h"

#include <algorithm>
#include <limits>
#include <mutex>
#include <numeric>
#include <optional>
#include <type_traits>

#include "kernels/parallel.h"
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

kernels::Queue& TheHost() {
  static kernels::HostQueue host;
  return host;
}

kernels::KernelCall CallOf(const Task& task, void* const* operands) {
  return {.inputs = {operands, task.inputs},
          .outputs = {operands + task.inputs, task.outputs},
          .workspace = operands[task.inputs + task.outputs]};
}

kernels::Queue& QueueOf(const Executable::Call& call) {
  return call.queue != nullptr ? *call.queue : TheHost();
}

const void* HostInput(const Task& task, const Executable::Call& call) {
  return task.target < call.host_inputs.size() ? call.host_inputs[task.target] : nullptr;
}

// Whether the calling thread itself reads or writes memory of the host for the task.
bool IsDoneByHost(const Task& task, const Executable::Call& call) {
  switch (task.kind) {
    case Task::Kind::kRun:
      return task.on_host;
    case Task::Kind::kFetchInput:
      return HostInput(task, call) != nullptr;
    default:
      return task.kind == Task::Kind::kSkipUnless || task.kind == Task::Kind::kBeginLoop ||
             task.kind == Task::Kind::kTestLoop;
  }
}

// Whether the task may lead elsewhere than to the next.
bool Leads(const Task& task) {
  switch (task.kind) {
    case Task::Kind::kSkip:
    case Task::Kind::kSkipUnless:
    case Task::Kind::kBeginLoop:
    case Task::Kind::kTestLoop:
    case Task::Kind::kNextLoop:
      return true;
    default:
      return false;
  }
}

struct NothingBefore {
  void operator()(const Task&) const {}
};

// How many of a task's operands, from the first on, are read.
size_t OperandsRead(const Task& task) {
  const bool several = task.kind == Task::Kind::kRun || task.kind == Task::Kind::kBeginLoop;
  return several ? task.inputs : 1;
}

bool IsTrue(const void* at) { return *static_cast<const bool*>(at); }

// Gives the body the number of its iteration.
Status TellNumber(Executable::LoopProgress& loop, void* number, kernels::Queue& queue) {
  if (number == nullptr) return {};
  const auto count = static_cast<int64_t>(loop.numbers.size());
  const int64_t place = loop.iteration % count;
  if (loop.numbers[0] != loop.iteration - place) {
    // Copies of the numbers that are there may still be to come.
    PLIMSOLL_TRY(queue.Finish());
    std::iota(loop.numbers.begin(), loop.numbers.end(), loop.iteration - place);
  }
  return queue.Copy(number, &loop.numbers[static_cast<size_t>(place)], Bytes(sizeof(int64_t)));
}

}  // namespace

Executable::Executable(compile::CompiledModel model, std::shared_ptr<const void> packed,
                       DeviceSide side)
    : packed_(std::move(packed)),
      side_(std::move(side)),
      model_(std::move(model)),
      program_(BuildProgram(model_)),
      port_uses_(compile::FindPortUses(model_.graph, model_.planned.buffers)) {
  const size_t inputs = model_.graph.root().inputs.size();
  std::vector<bool> on_device(inputs);
  read_on_host_only_.resize(inputs);
  for (size_t i = 0; i < program_.operands.size(); ++i) {
    const Place& place = program_.operands[i];
    const auto index = static_cast<size_t>(place.index);
    const bool input = place.base == Place::Base::kInput;
    const bool host_input = place.base == Place::Base::kHostInput;
    if (input) on_device[index] = true;
    if (host_input) read_on_host_only_[index] = true;
    if (input || host_input || place.base == Place::Base::kOutput) {
      port_operands_.push_back(static_cast<uint32_t>(i));
    }
  }
  for (size_t i = 0; i < inputs; ++i) {
    if (on_device[i]) read_on_host_only_[i] = false;
  }
}

Result<std::unique_ptr<const Executable>> Executable::Build(compile::CompiledModel model,
                                                            const kernels::HoldConstant& hold,
                                                            std::shared_ptr<const void> packed,
                                                            DeviceSide side) {
  std::unique_ptr<Executable> built(
      new Executable(std::move(model), std::move(packed), std::move(side)));
  PLIMSOLL_TRY(built->PlaceConstants(hold));
  return std::unique_ptr<const Executable>(std::move(built));
}

// Whether the task's kernel has a form of its own of a constant.
bool Executable::IsPacked(const Task& task, size_t input) const {
  return task.kind == Task::Kind::kRun && input < 64 &&
         ((model_.packed_inputs[task.node.index()] >> input) & 1) != 0;
}

// What all who read a constant as it is ask of its place, by value.
std::vector<kernels::ReadAs> Executable::ReadersOfConstants() const {
  std::vector<kernels::ReadAs> read(model_.graph.values.size(), kernels::ReadAs::kRows);
  for (const Task& task : program_.tasks) {
    for (size_t i = 0; i < OperandsRead(task); ++i) {
      const Place& place = program_.operands[task.first + i];
      const bool rows = task.kind == Task::Kind::kRun && task.kernel->rows_read(i) > 0;
      if (place.base == Place::Base::kConstant && !rows && !IsPacked(task, i)) {
        read[static_cast<size_t>(place.index)] = kernels::ReadAs::kElements;
      }
    }
  }
  return read;
}

Status Executable::PlaceConstants(const kernels::HoldConstant& hold) {
  constants_.resize(model_.graph.values.size());
  const std::vector<kernels::ReadAs> read = ReadersOfConstants();
  for (const Task& task : program_.tasks) {
    for (size_t i = 0; i < OperandsRead(task); ++i) {
      const Place& place = program_.operands[task.first + i];
      if (place.base == Place::Base::kHostConstant) PLIMSOLL_TRY(PlaceHostConstant(place));
      if (place.base != Place::Base::kConstant) continue;
      kernels::HostTensor& held = constants_[static_cast<size_t>(place.index)];
      if (IsPacked(task, i) || held.data != nullptr) continue;
      const graph::Value& value = model_.graph.values[static_cast<size_t>(place.index)];
      const graph::ConstantTensor& constant = model_.graph[value.constant];
      PLIMSOLL_ASSIGN(held, hold(constant, read[static_cast<size_t>(place.index)]));
    }
  }
  mapped_weights_ = MappedWeights(model_, program_, constants_);
  return {};
}

// Of constants that are missing only their size is known, and nothing runs.
Status Executable::PlaceHostConstant(const Place& place) {
  const auto index = static_cast<size_t>(place.index);
  const graph::ConstantTensor& constant = model_.graph[model_.graph.values[index].constant];
  host_constants_.resize(model_.graph.values.size());
  if (constant.missing || host_constants_[index].data != nullptr) return {};
  PLIMSOLL_ASSIGN(host_constants_[index], kernels::ToHostTensor(constant));
  return {};
}

void Executable::AddTo(HeldWeights& weights) const {
  for (size_t i = 0; i < constants_.size(); ++i) {
    const kernels::HostTensor& constant = constants_[i];
    if (constant.data == nullptr) continue;
    weights.emplace(constant.data.get(), HeldWeight{constant.size(), model_.graph.values[i].name});
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
    case Place::Base::kHostConstant:
      return host_constants_[index].data.get();
    default:
      return nullptr;
  }
}

Executable::Addresses Executable::Bind(std::byte* arena, std::span<std::byte* const> areas) const {
  Addresses addresses;
  for (const Place& place : program_.operands) {
    addresses.operands.push_back(AddressOf(place, arena, areas));
  }
  addresses.loops.resize(program_.loops.size());
  for (LoopProgress& loop : addresses.loops) {
    std::iota(loop.numbers.begin(), loop.numbers.end(), int64_t{0});
  }
  return addresses;
}

void Executable::SetPorts(Addresses& addresses, const Call& call) const {
  for (const uint32_t operand : port_operands_) {
    const Place& place = program_.operands[operand];
    const auto index = static_cast<size_t>(place.index);
    void* const base = place.base == Place::Base::kOutput ? call.outputs[index]
                                                          : const_cast<void*>(call.inputs[index]);
    addresses.operands[operand] =
        base == nullptr ? nullptr : static_cast<std::byte*>(base) + place.offset;
  }
}

Status Executable::RunTask(const Task& task, const Addresses& addresses, const Call& call) const {
  void* const* operands = addresses.operands.data() + task.first;
  kernels::Queue& queue = task.on_host ? TheHost() : QueueOf(call);
  switch (task.kind) {
    case Task::Kind::kFetchInput:
      if (const void* const here = HostInput(task, call)) {
        return TheHost().Copy(operands[1], here, Bytes(task.bytes));
      }
      [[fallthrough]];
    case Task::Kind::kCopy:
      return queue.Copy(operands[1], operands[0], Bytes(task.bytes));
    case Task::Kind::kTransfer: {
      const Transfer& transfer = program_.transfers[task.target];
      for (size_t i = 0; i < transfer.sizes.size(); ++i) {
        PLIMSOLL_TRY(queue.Copy(operands[2 * i + 1], operands[2 * i], transfer.sizes[i]));
      }
      return {};
    }
    case Task::Kind::kCopySlice:
      return CopySlice(task, addresses, queue);
    case Task::Kind::kFail:
      return *model_.graph.subgraphs[task.target].impossible;
    case Task::Kind::kClear:
      return Clear(operands[0], Bytes(task.bytes), queue, call.clearing);
    default:
      // The same bits whether its branch runs beside others or not.
      std::optional<kernels::ThreadScope> one;
      if (task.in_one_thread) one.emplace(1);
      PLIMSOLL_TRY(queue.Run(*task.kernel, CallOf(task, operands)));
      mapped_weights_.GiveBack(static_cast<size_t>(&task - program_.tasks.data()));
      return {};
  }
}

Status Executable::RunAtOnce(const TasksAtOnce& at_once, const Addresses& addresses,
                             const Call& call) const {
  struct Shares {
    const Executable& executable;
    const TasksAtOnce& at_once;
    const Addresses& addresses;
    const Call& call;
    std::mutex mutex = {};
    uint32_t failed = std::numeric_limits<uint32_t>::max();  // the first task that did
    Status status = {};
  } shares{*this, at_once, addresses, call};
  const auto run = [](int share, int, const void* given) {
    auto& all = *static_cast<Shares*>(const_cast<void*>(given));
    for (const uint32_t task : all.at_once.shares[static_cast<size_t>(share)]) {
      Status done =
          all.executable.RunTask(all.executable.program_.tasks[task], all.addresses, all.call);
      if (done.ok()) continue;
      const std::lock_guard lock(all.mutex);
      if (task < all.failed) all.status = std::move(done);
      all.failed = std::min(all.failed, task);
      return;
    }
  };
  kernels::RunRegion(static_cast<int>(at_once.shares.size()), false, run, &shares);
  return std::move(shares.status);
}

Status Executable::CopySlice(const Task& task, const Addresses& addresses,
                             kernels::Queue& queue) const {
  const SliceCopy& slice = program_.slices[task.target];
  const compile::SliceLayout& layout = slice.layout;
  const int64_t iteration = addresses.loops[slice.loop].iteration;
  if (iteration >= layout.length) {
    return Error{.kind = ErrorKind::kRunFailed,
                 .code = "run.slices",
                 .what = "a loop ran more often than its plan has room for",
                 .where = graph::Describe(model_.graph, task.node),
                 .why = StrCat("iteration ", iteration, " of ", layout.length),
                 .remedy = "this is a bug of ours: please report it"};
  }
  const int64_t index = slice.backward ? layout.length - 1 - iteration : iteration;
  const int64_t offset = (layout.block * index).value();
  const auto* from = static_cast<const std::byte*>(addresses.operands[task.first]);
  auto* to = static_cast<std::byte*>(addresses.operands[task.first + 1]);
  from += slice.collects ? 0 : offset;
  to += slice.collects ? offset : 0;
  for (int64_t block = 0; block < layout.blocks; ++block) {
    PLIMSOLL_TRY(queue.Copy(to, from, layout.block));
    from += (slice.collects ? layout.block : layout.stride).value();
    to += (slice.collects ? layout.stride : layout.block).value();
  }
  return {};
}

Result<size_t> Executable::BeginLoop(const Task& task, size_t index, Addresses& addresses,
                                     kernels::Queue& queue) const {
  static constexpr bool kTrue = true;
  void* const* const operands = addresses.operands.data() + task.first;
  const ProgramLoop& loop = program_.loops[task.target];
  LoopProgress& progress = addresses.loops[task.target];
  progress.iteration = 0;
  progress.goes_on = operands[1] == nullptr || IsTrue(operands[1]);
  progress.most = loop.length;
  if (operands[0] != nullptr) progress.most = *static_cast<const int64_t*>(operands[0]);
  if (!progress.goes_on || progress.most <= 0) return loop.end;
  if (operands[3] != nullptr) PLIMSOLL_TRY(queue.Copy(operands[3], &kTrue, Bytes(sizeof(kTrue))));
  PLIMSOLL_TRY(TellNumber(progress, operands[2], queue));
  return index + 1;
}

Result<size_t> Executable::NextLoop(const Task& task, size_t index, Addresses& addresses,
                                    kernels::Queue& queue) const {
  LoopProgress& progress = addresses.loops[task.target];
  ++progress.iteration;
  if (!progress.goes_on || progress.iteration >= progress.most) return index + 1;
  PLIMSOLL_TRY(TellNumber(progress, addresses.operands[task.first], queue));
  return program_.loops[task.target].body;
}

Result<size_t> Executable::Next(size_t index, Addresses& addresses, kernels::Queue& queue) const {
  const Task& task = program_.tasks[index];
  switch (task.kind) {
    case Task::Kind::kSkip:
      return task.target;
    case Task::Kind::kSkipUnless:
      return IsTrue(addresses.operands[task.first]) ? index + 1 : task.target;
    case Task::Kind::kBeginLoop:
      return BeginLoop(task, index, addresses, queue);
    case Task::Kind::kNextLoop:
      return NextLoop(task, index, addresses, queue);
    default:
      addresses.loops[task.target].goes_on = IsTrue(addresses.operands[task.first]);
      return index + 1;
  }
}

Status Executable::RunMonitored(size_t index, const Addresses& addresses, const Call& call) const {
  const Task& task = program_.tasks[index];
  if (!call.monitor->LooksAtKernels()) {
    call.monitor->BeforeTask(index);
    Status done = RunTask(task, addresses, call);
    if (done.ok()) call.monitor->AfterTask(index);
    return done;
  }
  const bool updates = index >= program_.first_update;
  if (!updates) PLIMSOLL_TRY(call.monitor->CheckRunTime(model_.graph, task.node));
  call.monitor->BeforeTask(index);
  Status done =
      task.kind != Task::Kind::kRun
          ? RunTask(task, addresses, call)
          : call.monitor->Run({.graph = model_.graph,
                               .node = task.node,
                               .kernel = *task.kernel,
                               .call = CallOf(task, addresses.operands.data() + task.first),
                               .queue = task.on_host ? TheHost() : QueueOf(call),
                               .later = !task.on_host && call.queue != nullptr,
                               .updates_variables = updates});
  if (done.ok()) call.monitor->AfterTask(index);
  return done;
}

template <typename Before>
Status Executable::Walk(const Program::Range& tasks, Addresses& addresses, const Call& call,
                        const Before& before) const {
  kernels::Queue& queue = QueueOf(call);
  // Who looks at tasks sees them one after the other.
  const bool at_once =
      std::is_same_v<Before, NothingBefore> && call.monitor == nullptr && call.queue == nullptr;
  // Whether something that was sent may still use memory of the host.
  bool in_use = true;
  size_t i = tasks.begin;
  const auto failed = [&](Status why) {
    if (call.half_applied != nullptr) *call.half_applied = i >= program_.first_update;
    return why;
  };
  while (i < tasks.end) {
    const Task& task = program_.tasks[i];
    if (!Runs(task, call)) {
      ++i;
      continue;
    }
    const bool may_stop = (i == 0 || i < program_.first_update) && call.cancelled != nullptr;
    if (may_stop && call.cancelled->load(std::memory_order_relaxed)) {
      return Cancelled(model_.graph, task);
    }
    if (call.task != nullptr) {
      call.task->store(static_cast<int64_t>(i), std::memory_order_relaxed);
    }
    // What fails before the first variable has its new value must be known by then.
    if (i == program_.first_update) {
      PLIMSOLL_TRY(FinishWithin(call.monitor, TaskMonitor::Wait::kStream, queue));
    }
    before(task);
    const bool by_host = IsDoneByHost(task, call);
    if (by_host && in_use) {
      TaskMonitor* const monitor = i < program_.first_update ? call.monitor : nullptr;
      Status finished = FinishWithin(monitor, TaskMonitor::Wait::kEvent, queue);
      if (!finished.ok()) return failed(std::move(finished));
    }
    in_use = (in_use || task.uses_host_memory) && !by_host;
    if (at_once && task.side_by_side != kNoBranches) {
      const TasksAtOnce& branches = program_.side_by_side[static_cast<size_t>(task.side_by_side)];
      Status done = RunAtOnce(branches, addresses, call);
      if (!done.ok()) return failed(std::move(done));
      i = branches.end;
    } else if (Leads(task)) {
      const Result<size_t> next = Next(i, addresses, queue);
      if (!next.ok()) return failed(next.status());
      i = *next;
    } else {
      Status done = call.monitor == nullptr ? RunTask(task, addresses, call)
                                            : RunMonitored(i, addresses, call);
      if (!done.ok()) return failed(std::move(done));
      ++i;
    }
  }
  return {};
}

template <typename Before>
Status Executable::RunAll(Addresses& addresses, const Call& call, const Before& before) const {
  const kernels::ThreadScope threads(model_.threads);
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
  return RunAll(addresses, call, NothingBefore());
}

Status Executable::Run(Addresses& addresses, const Call& call, const BeforeTask& before) const {
  return RunAll(addresses, call, before);
}

Status Executable::RunTasks(const Program::Range& tasks, Addresses& addresses, const Call& call,
                            const BeforeTask& before) const {
  return Walk(tasks, addresses, call, [&](const Task& task) {
    if (before) before(task);
  });
}

}  // namespace plimsoll::engine
