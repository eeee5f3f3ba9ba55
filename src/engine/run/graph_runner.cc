#include "engine/run/graph_runner.h"

#include <utility>

#include "engine/graph/memory_demands.h"
#include "engine/transfer/device_queue.h"
#include "engine/transfer/port_memory.h"
#include "engine/transfer/staged_ports.h"
#include "kernels/parallel.h"
#include "plimsoll/base/text.h"

namespace plimsoll::engine {

using kernels::HostValue;

GraphRunner::GraphRunner(const Options& options, const DeviceSide& side, RunMemory memory)
    : options_(options),
      debug_(options.debug),
      side_(side),
      memory_(std::move(memory)),
      streams_(side.device, side.id) {}

Result<StreamSet*> GraphRunner::Streams(size_t count) {
  PLIMSOLL_TRY(streams_.Grow(count));
  return &streams_;
}

Status GraphRunner::Reserve(const Executable& executable, std::span<const TensorView> inputs,
                            std::span<const TensorView> outputs) {
  PLIMSOLL_TRY(memory_.Take(executable.program()).status());
  if (side_.host_reachable) return {};
  std::vector<PortAddress> read;
  std::vector<PortAddress> written;
  for (const TensorView& input : inputs) read.push_back({input.data, input.on_device});
  for (const TensorView& output : outputs) written.push_back({output.data, output.on_device});
  return memory_
      .TakePorts(PortMemory::SizeFor(executable, read, written, options_.input_fusion_size))
      .status();
}

// A run in which an operand that never moves would lie elsewhere than before is refused.
Status GraphRunner::Bind(BoundExecutable& bound, std::byte* arena) {
  std::vector<RunRecord::StableAddress> stable;
  for (const StablePlace& operand : bound.executable->program().stable) {
    const void* const now = bound.executable->AddressOf(operand.place, arena, memory_.areas());
    const void* const before = stable_.try_emplace(operand.key, now).first->second;
    if (now != before) {
      return Error{.kind = ErrorKind::kRunFailed,
                   .code = "run.stable_address",
                   .what = "the run was refused",
                   .where = StrCat(operand.key, " ('", operand.value, "')"),
                   .why = "it keeps its address, and with these shapes it would lie elsewhere",
                   .remedy = "let it lie in no group with values whose sizes change"};
    }
    stable.push_back({operand.key, operand.value, now});
  }
  bound.addresses = bound.executable->Bind(arena, memory_.areas());
  bound.arena = arena;
  bound.areas = memory_.areas();
  bound.stable = std::move(stable);
  const bool several = StreamedRun::StreamsOf(*bound.executable) > 1;
  if (several && !bound.streamed) bound.streamed.emplace(bound.executable);
  return {};
}

Status GraphRunner::Run(BoundExecutable& bound, const Call& call) {
  const kernels::PinScope pins(options_.pin_threads);
  PLIMSOLL_ASSIGN(const RunMemory::Taken memory, memory_.Take(bound.executable->program()));
  const bool same = bound.arena == memory.arena && bound.areas == memory_.areas();
  if (!same || bound.addresses.operands.empty()) PLIMSOLL_TRY(Bind(bound, memory.arena));
  last_run_.ports = bound.executable->port_uses();
  last_run_.clearing = {};
  last_run_.stable = bound.stable;
  last_run_.batch = call.batch;
  const Executable::Call run{.inputs = {},
                             .outputs = {},
                             .cancelled = call.cancelled,
                             .task = call.task,
                             .clearing = &last_run_.clearing,
                             .half_applied = call.half_applied,
                             .batch = bound.executable->program().BatchNamed(call.batch)};
  return side_.host_reachable ? RunOnHost(bound, call, run) : RunOnDevice(bound, call, run);
}

// Where a session records: the run is told of under its own number.
std::unique_ptr<RunProfile> GraphRunner::RecordRun(const std::shared_ptr<const PlanProfile>& plan,
                                                   RunProfile::Place place) const {
  place.step = debug_.step() - 1;
  place.device = side_.id.ordinal;
  return std::make_unique<RunProfile>(debug_.profile()->recorder(), plan, place);
}

Status GraphRunner::RunBound(BoundExecutable& bound, Executable::Call call) {
  const auto monitor = debug_.BeginRun(bound.executable->model().graph, bound.streamed.has_value());
  if (debug_.profile() != nullptr) {
    if (bound.profile == nullptr) {
      bound.profile = std::make_shared<const PlanProfile>(*debug_.profile()->recorder(),
                                                          debug_.profiled(), *bound.executable);
    }
    monitor->Profile(RecordRun(
        bound.profile,
        {.arena = bound.arena, .size = bound.executable->program().arena, .batch = call.batch}));
  }
  call.monitor = monitor.get();
  const auto run = [&]() -> Status {
    if (!bound.streamed) return bound.executable->Run(bound.addresses, call);
    PLIMSOLL_ASSIGN(StreamSet* const streams, Streams(StreamedRun::StreamsOf(*bound.executable)));
    return bound.streamed->Run(*streams, options_.threads, bound.addresses, call);
  };
  return monitor == nullptr ? run() : monitor->Finished(run(), call.queue);
}

Status GraphRunner::RunOnHost(BoundExecutable& bound, const Call& call, Executable::Call run) {
  StagedPorts staged;
  last_run_.transfers = CountTransfers(bound.executable->program());
  read_.resize(call.inputs.size());
  written_.resize(call.outputs.size());
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    const TensorView& input = call.inputs[i];
    PLIMSOLL_ASSIGN(read_[i],
                    staged.Input(input.type, input.dims, input.data, last_run_.ports.inputs[i]));
  }
  for (size_t i = 0; i < call.outputs.size(); ++i) {
    const TensorView& output = call.outputs[i];
    written_[i] = nullptr;
    if (!Makes(call.batch, call.ports[i])) continue;
    PLIMSOLL_ASSIGN(written_[i], staged.Output(output.type, output.dims, output.data,
                                               last_run_.ports.outputs[i]));
  }
  run.inputs = read_;
  run.outputs = written_;
  PLIMSOLL_TRY(RunBound(bound, run));
  staged.CopyOutputs();
  return {};
}

Status GraphRunner::RunOnDevice(BoundExecutable& bound, const Call& call, Executable::Call run) {
  PLIMSOLL_ASSIGN(StreamSet* const streams, Streams(StreamedRun::StreamsOf(*bound.executable)));
  DeviceQueue queue(side_, streams->At(0), options_.threads.first);
  const auto place = [](const TensorView& tensor, compile::PortUse& use) {
    if (!tensor.on_device) {
      use = {.how = compile::PortUse::How::kCopied,
             .reason = "the host cannot reach the device's memory"};
    }
    return PortAddress{tensor.data, tensor.on_device};
  };
  std::vector<PortAddress> read;
  std::vector<PortAddress> written;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    read.push_back(place(call.inputs[i], last_run_.ports.inputs[i]));
  }
  for (size_t i = 0; i < call.outputs.size(); ++i) {
    written.emplace_back();
    if (!Makes(call.batch, call.ports[i])) continue;
    written.back() = place(call.outputs[i], last_run_.ports.outputs[i]);
  }
  const auto take = [this](Bytes size) { return memory_.TakePorts(size); };
  PLIMSOLL_ASSIGN(
      const PortMemory ports,
      PortMemory::Bring(*bound.executable, read, written, options_.input_fusion_size, take, queue));
  PLIMSOLL_TRY(queue.Finish());
  last_run_.transfers = ports.transfers();
  run.inputs = ports.inputs();
  run.outputs = ports.outputs();
  run.host_inputs = ports.host_inputs();
  run.queue = &queue;
  PLIMSOLL_TRY(RunBound(bound, run));
  PLIMSOLL_TRY(ports.Fetch(queue));
  return queue.Finish();
}

Result<std::vector<HostValue>> GraphRunner::RunNodeByNode(const Unplanned& unplanned,
                                                          std::vector<HostValue> inputs,
                                                          const std::atomic<bool>* cancelled,
                                                          const std::string& batch) {
  const kernels::ThreadScope threads(options_.threads.first);
  const kernels::PinScope pins(options_.pin_threads);
  const graph::Graph& graph = unplanned.graph;
  if (!interpreter_) {
    PLIMSOLL_TRY(CheckNodeByNode(graph));
    interpreter_.emplace(graph);
  }
  if (!stretches_) stretches_.emplace(unplanned.compile, unplanned.kept_plans);
  const auto monitor = debug_.BeginRun(graph, false);
  Interpreter::Options walk;
  if (debug_.profile() != nullptr) {
    if (names_ == nullptr) {
      names_ = std::make_shared<const PlanProfile>(*debug_.profile()->recorder(), debug_.profiled(),
                                                   graph);
    }
    monitor->Profile(RecordRun(names_, {}));
    // Beside a device that the host cannot reach, tensors lie in plain memory of the host.
    walk.records_tensors = side_.host_reachable;
    walk.tensors_reserve = !memory_.tensors_from_range();
  }
  walk.monitor = monitor.get();
  walk.stretches = &*stretches_;
  walk.cancelled = cancelled;
  walk.batch = batch;
  walk.allocate = memory_.TensorAllocator();
  walk.deterministic = options_.deterministic;
  if (side_.host_reachable) {
    walk.hold = [&](const graph::ConstantTensor& constant, kernels::ReadAs read) {
      return unplanned.constants.Hold(constant, read);
    };
  }
  if (options_.separate_host_operators) {
    PLIMSOLL_ASSIGN(walk.streams, Streams(2));
  }
  return interpreter_->Run(std::move(inputs), walk);
}

void GraphRunner::AddTo(HeldWeights& weights) const {
  if (interpreter_) interpreter_->AddTo(weights);
  if (stretches_) stretches_->AddTo(weights);
}

StretchCounts GraphRunner::stretch_counts() const {
  return interpreter_ ? interpreter_->counts() : StretchCounts();
}

}  // namespace plimsoll::engine
