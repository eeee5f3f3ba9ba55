#include "engine/debug/run_monitor.h"

#include <algorithm>

#include "engine/debug/overwrite_check.h"
#include "engine/debug/tensor_statistics.h"
#include "plimsoll/base/log.h"
#include "plimsoll/base/text.h"

namespace plimsoll::engine {
namespace {

using TimePoint = TaskMonitor::TimePoint;

int64_t Milliseconds(TimePoint::duration time) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
}

Error TimedOut(std::string what, std::string where, TimePoint::duration took, const char* option,
               TimePoint::duration limit) {
  return Error{.kind = ErrorKind::kRunFailed,
               .code = "run.timeout",
               .what = std::move(what),
               .where = std::move(where),
               .why = StrCat("it took ", Milliseconds(took), " ms, and ", option, " allows ",
                             Milliseconds(limit), " ms"),
               .remedy = StrCat("raise ", option, ", or look for what hangs or is slow there")};
}

}  // namespace

SessionDebug::SessionDebug(DebugSettings asked, DeviceSide of,
                           std::shared_ptr<SessionProfile> recorded)
    : settings(std::move(asked)),
      side(std::move(of)),
      clock(settings.clock != nullptr ? settings.clock : std::make_shared<RunClock>()),
      profile(std::move(recorded)),
      folder(settings.dump.path) {}

// Listed as running for as long as it lives, for the message of a wait that takes too long.
class RunMonitor::RunningNode {
 public:
  RunningNode(RunMonitor& monitor, const KernelRun& run) : monitor_(monitor) {
    if (!monitor_.timed_) return;
    const std::lock_guard lock(monitor_.mutex_);
    monitor_.running_.emplace(this, graph::Describe(run.graph, run.node));
  }
  ~RunningNode() {
    if (!monitor_.timed_) return;
    const std::lock_guard lock(monitor_.mutex_);
    monitor_.running_.erase(this);
  }
  RunningNode(const RunningNode&) = delete;
  RunningNode& operator=(const RunningNode&) = delete;

 private:
  RunMonitor& monitor_;
};

// A kernel that a device runs later, on a thread of its own.
class RunMonitor::WatchedKernel final : public kernels::Kernel {
 public:
  WatchedKernel(RunMonitor& monitor, const KernelRun& run) : monitor_(monitor), run_(run) {}
  Status Run(const kernels::KernelCall& call) const override {
    const RunningNode running(monitor_, run_);
    const RunProfile::Operator recorded(monitor_.profile(), run_.node);
    const TimePoint begin = monitor_.Now();
    Status done = run_.kernel.Run(call);
    if (done.ok()) done = monitor_.CheckKernelTime(run_, begin);
    if (!done.ok()) monitor_.NoteFailed(run_);
    return done;
  }

 private:
  RunMonitor& monitor_;
  const KernelRun run_;
};

RunMonitor::RunMonitor(SessionDebug& session, const std::string& graph, int64_t step)
    : session_(session),
      settings_(session.settings),
      begin_(session.clock->Now()),
      looks_(settings_.any()),
      timed_(settings_.timeouts.op_execute || settings_.timeouts.stream_sync ||
             settings_.timeouts.event_sync) {
  const config::DumpSettings& dump = settings_.dump;
  if ((dump.enabled || dump.find_overflow) && dump.TakesStep(step)) {
    dump_.emplace(dump, session.folder, graph, step);
  }
}

Status RunMonitor::Run(const KernelRun& run) {
  const graph::Node& node = run.graph[run.node];
  const auto& checked_ones = settings_.oom.operators;
  const bool checked =
      settings_.oom.enabled && (!checked_ones || checked_ones->Holds(node.name, node.op));
  const bool dumped = dump_ && settings_.dump.enabled && dump_->Takes(node);
  const bool overflow = dump_ && settings_.dump.find_overflow && !overflow_told_;
  if (checked || dumped || overflow) return RunLooked(run, checked, dumped, overflow);
  return run.later ? SendWatched(run) : RunTimed(run);
}

Status RunMonitor::RunLooked(const KernelRun& run, bool checked, bool dumped, bool overflow) {
  if (run.later) PLIMSOLL_TRY(run.queue.Finish());
  const OperatorTensors tensors = TensorsOf(run);
  if (dumped && dump_->takes_inputs()) dump_->Write(tensors, tensors.inputs);
  const bool finite = overflow && AllFinite(tensors, tensors.inputs);
  const TimePoint begin = Now();
  Status done;
  {
    const RunningNode running(*this, run);
    const RunProfile::Operator recorded(run.site == nullptr ? profile() : nullptr, run.node);
    done = checked ? RunBetweenGuards(run, tensors, session_.side)
                   : run.queue.Run(run.kernel, run.call);
    if (done.ok() && run.later) done = run.queue.Finish();
  }
  if (done.ok()) done = CheckKernelTime(run, begin);
  if (!done.ok()) return Failed(tensors, &run.kernel, run.call.workspace, done.error());
  if (dumped && dump_->takes_outputs()) dump_->Write(tensors, tensors.outputs);
  if (finite) LookForOverflow(tensors);
  return {};
}

Status RunMonitor::RunTimed(const KernelRun& run) {
  const RunningNode running(*this, run);
  // Node by node, an operator is recorded with what is made for it.
  const RunProfile::Operator recorded(run.site == nullptr ? profile() : nullptr, run.node);
  const TimePoint begin = timed_ ? Now() : TimePoint();
  Status done = run.queue.Run(run.kernel, run.call);
  if (done.ok() && timed_) done = CheckKernelTime(run, begin);
  return done.ok() ? done : Failed(run, done.error());
}

Status RunMonitor::SendWatched(const KernelRun& run) {
  const bool dumps = settings_.exception.mode != config::ExceptionDump::Mode::kOff;
  if (!dumps && !timed_ && profile_ == nullptr) return run.queue.Run(run.kernel, run.call);
  const kernels::Kernel* watched = nullptr;
  {
    const std::lock_guard lock(mutex_);
    watched = watched_.emplace_back(std::make_unique<const WatchedKernel>(*this, run)).get();
  }
  return run.queue.Run(*watched, run.call);
}

Status RunMonitor::CheckKernelTime(const KernelRun& run, TimePoint begin) const {
  const auto limit = settings_.timeouts.op_execute;
  if (!limit) return {};
  const auto took = session_.clock->Now() - begin;
  if (took <= *limit) return {};
  Error error = TimedOut("an operator took too long", graph::Describe(run.graph, run.node), took,
                         "op_execute_timeout", *limit);
  if (!run.updates_variables) return error;
  error.why += ": it updates variables, so the step goes on";
  Log(LogLevel::kWarning, error.Text());
  return {};
}

Status RunMonitor::CheckRunTime(const graph::Graph& graph, graph::NodeId next) {
  const auto limit = settings_.timeouts.stream_sync;
  if (!limit) return {};
  const auto took = Now() - begin_;
  if (took <= *limit) return {};
  return TimedOut("the run took too long",
                  next.valid() ? StrCat("before ", graph::Describe(graph, next)) : "its stream",
                  took, "stream_sync_timeout", *limit);
}

Status RunMonitor::CheckStreamWait(TimePoint since, int stream) {
  const auto limit = settings_.timeouts.op_wait;
  if (!limit) return {};
  const auto took = Now() - since;
  if (took <= *limit) return {};
  return TimedOut("an operator waited too long for other streams", StrCat("stream ", stream), took,
                  "op_wait_timeout", *limit);
}

Status RunMonitor::Await(Wait wait, std::string_view what,
                         const std::function<Result<bool>()>& done) {
  const bool stream = wait == Wait::kStream;
  const auto limit = stream ? settings_.timeouts.stream_sync : settings_.timeouts.event_sync;
  if (!limit) return {};
  constexpr std::chrono::microseconds kLongestPause(1000);
  const TimePoint begin = Now();
  for (std::chrono::microseconds pause(10);; pause = std::min(2 * pause, kLongestPause)) {
    PLIMSOLL_ASSIGN(const bool reached, done());
    if (reached) return {};
    const auto took = Now() - begin;
    if (took > *limit) {
      Error error = TimedOut("a synchronisation took too long", StrCat(what, RunningNodes()), took,
                             stream ? "stream_sync_timeout" : "event_sync_timeout", *limit);
      Log(LogLevel::kWarning,
          StrCat(error.Text(),
                 ": a kernel that has begun cannot be ended, the run ends behind it"));
      return error;
    }
    session_.clock->Sleep(pause);
  }
}

std::string RunMonitor::RunningNodes() {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> nodes;
  for (const auto& [key, node] : running_) nodes.push_back(node);
  std::ranges::sort(nodes);
  return nodes.empty() ? "" : StrCat(", while ", Join(nodes, ", "), " ran");
}

Status RunMonitor::HostOperatorRan(const OperatorTensors& tensors, Status done) {
  if (!done.ok()) return Failed(tensors, nullptr, nullptr, done.error());
  if (!dump_ || !settings_.dump.enabled || !dump_->Takes(tensors.graph[tensors.node])) return done;
  if (dump_->takes_inputs()) dump_->Write(tensors, tensors.inputs);
  if (dump_->takes_outputs()) dump_->Write(tensors, tensors.outputs);
  return done;
}

Status RunMonitor::Finished(Status done, kernels::Queue* queue) {
  if (done.ok() || !failed_ || queue == nullptr) return done;
  const KernelRun run{.graph = failed_->graph,
                      .node = failed_->node,
                      .kernel = failed_->kernel,
                      .call = failed_->call,
                      .queue = *queue,
                      .later = true};
  return Failed(run, done.error());
}

void RunMonitor::NoteFailed(const KernelRun& run) {
  const std::lock_guard lock(mutex_);
  if (!failed_) failed_.emplace(run);
}

Status RunMonitor::Failed(const KernelRun& run, const Error& error) {
  if (settings_.exception.mode == config::ExceptionDump::Mode::kOff) return error;
  return Failed(TensorsOf(run), &run.kernel, run.call.workspace, error);
}

Status RunMonitor::Failed(const OperatorTensors& tensors, const kernels::Kernel* kernel,
                          const void* workspace, const Error& error) {
  if (settings_.exception.mode == config::ExceptionDump::Mode::kOff) return error;
  return WriteExceptionDump(settings_.exception, session_.side.id.ordinal,
                            {.tensors = tensors, .kernel = kernel, .workspace = workspace}, error);
}

bool RunMonitor::AllFinite(const OperatorTensors& tensors,
                           const std::vector<OperandTensor>& operands) {
  return std::ranges::all_of(operands, [&](const OperandTensor& operand) {
    if (!operand.has_bytes() || IsInteger(operand.type) || operand.type == DataType::kBool) {
      return true;
    }
    const auto fetched = Fetch(tensors.queue, operand.address, operand.size());
    return fetched.ok() && StatisticsOf(operand.type, operand.elements(), fetched->bytes).finite();
  });
}

void RunMonitor::LookForOverflow(const OperatorTensors& tensors) {
  for (const OperandTensor& output : tensors.outputs) {
    if (AllFinite(tensors, {output}) || overflow_told_.exchange(true)) continue;
    // Written in place, an input is no longer there.
    std::vector<OperandTensor> kept;
    for (const OperandTensor& input : tensors.inputs) {
      const bool overwritten = std::ranges::any_of(tensors.outputs, [&](const OperandTensor& made) {
        return made.address == input.address;
      });
      if (!overwritten) kept.push_back(input);
    }
    kept.insert(kept.end(), tensors.outputs.begin(), tensors.outputs.end());
    if (!settings_.dump.enabled) dump_->Write(tensors, kept);
    const auto folder = dump_->Folder();
    Log(LogLevel::kWarning,
        StrCat("an operator made NaN or infinity of finite numbers: ",
               graph::Describe(tensors.graph, tensors.node), ", ", Describe(output),
               folder.ok() ? StrCat("; see its tensors in ", folder->string()) : "",
               " [dump.overflow]"));
    return;
  }
}

std::unique_ptr<RunMonitor> GraphDebug::BeginRun(const graph::Graph& nodes, bool several_streams) {
  if (session_ == nullptr) return nullptr;
  const DebugSettings& settings = session_->settings;
  const bool waits = several_streams && settings.timeouts.op_wait;
  if (!settings.any() && !waits && session_->profile == nullptr) return nullptr;
  if (step_ == 0) WarnOfUnknownLayers(nodes);
  return std::make_unique<RunMonitor>(*session_, graph_, step_++);
}

void GraphDebug::WarnOfUnknownLayers(const graph::Graph& nodes) const {
  for (const std::string& layer : session_->settings.dump.layers) {
    const bool there = std::ranges::any_of(nodes.subgraphs, [&](const graph::Subgraph& body) {
      return std::ranges::any_of(body.nodes,
                                 [&](graph::NodeId id) { return nodes[id].name == layer; });
    });
    if (there) continue;
    Log(LogLevel::kWarning,
        StrCat("dump_layer names '", layer, "', and no node of ", graph_,
               " that runs is called so: it may have been fused or folded away [dump.layer]"));
  }
}

}  // namespace plimsoll::engine
