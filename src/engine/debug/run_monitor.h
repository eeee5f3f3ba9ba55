#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "engine/debug/debug_settings.h"
#include "engine/debug/exception_dump.h"
#include "engine/debug/tensor_dump.h"
#include "engine/profile/run_profile.h"
#include "engine/profile/session_profile.h"
#include "engine/run/task_monitor.h"
#include "engine/transfer/device_side.h"
#include "plimsoll/base/status.h"

namespace plimsoll::engine {

// What the graphs of a session share for debugging. Thread-safe.
struct SessionDebug {
  SessionDebug(DebugSettings asked, DeviceSide of,
               std::shared_ptr<SessionProfile> recorded = nullptr);

  const DebugSettings settings;
  const DeviceSide side;
  const std::shared_ptr<RunClock> clock;
  const std::shared_ptr<SessionProfile> profile;  // null: nothing is recorded
  DumpFolder folder;
};

// The monitor of one run: writes its tensors (dump_config), runs kernels between guard zones (oom),
// writes the tensors of an operator that fails (enable_exception_dump), tells the first operator
// that makes NaN or infinity, ends the run where its work takes too long, and tells a recorder
// (profiling_config) of its tasks.
//
// Where tensors are looked at, each kernel is waited for. A kernel that has begun runs to its end,
// whatever it takes: nothing can end it, and the run ends behind it. A kernel that takes too long
// behind the point from which a training step goes to its end is told as a warning.
class RunMonitor final : public TaskMonitor {
 public:
  RunMonitor(SessionDebug& session, const std::string& graph, int64_t step);

  // Tells of this run from now on.
  void Profile(std::unique_ptr<RunProfile> profile) { profile_ = std::move(profile); }
  RunProfile* profile() const { return profile_.get(); }  // null: nobody is told

  bool LooksAtKernels() const override {
    return looks_ || (profile_ != nullptr && profile_->recording());
  }
  Status Run(const KernelRun& run) override;
  void BeforeTask(size_t task) override {
    if (profile_ != nullptr) profile_->BeforeTask(task);
  }
  void AfterTask(size_t task) override {
    if (profile_ != nullptr) profile_->AfterTask(task);
  }
  Status CheckRunTime(const graph::Graph& graph, graph::NodeId next) override;
  TimePoint Now() override { return session_.clock->Now(); }
  Status CheckStreamWait(TimePoint since, int stream) override;
  Status Await(Wait wait, std::string_view what,
               const std::function<Result<bool>()>& done) override;

  // An operator over host values has run, or failed.
  Status HostOperatorRan(const OperatorTensors& tensors, Status done);
  // The run has ended so: what is known of it only now is added. `queue`: to fetch tensors by,
  // where a kernel failed that was sent to a device.
  Status Finished(Status done, kernels::Queue* queue);

 private:
  class WatchedKernel;
  class RunningNode;

  Status RunLooked(const KernelRun& run, bool checked, bool dumped, bool overflow);
  Status RunTimed(const KernelRun& run);
  Status SendWatched(const KernelRun& run);
  Status CheckKernelTime(const KernelRun& run, TimePoint begin) const;
  Status Failed(const OperatorTensors& tensors, const kernels::Kernel* kernel,
                const void* workspace, const Error& error);
  Status Failed(const KernelRun& run, const Error& error);
  bool AllFinite(const OperatorTensors& tensors, const std::vector<OperandTensor>& operands);
  void LookForOverflow(const OperatorTensors& tensors);
  void NoteFailed(const KernelRun& run);
  std::string RunningNodes();

  SessionDebug& session_;
  const DebugSettings& settings_;
  const TimePoint begin_;
  const bool looks_;             // for more than the recorder
  const bool timed_;             // some wait has a limit
  std::optional<RunDump> dump_;  // nothing: this run is not looked at
  std::unique_ptr<RunProfile> profile_;
  std::atomic<bool> overflow_told_ = false;
  std::mutex mutex_;
  std::vector<kernels::KernelPointer> watched_;  // sent to a device
  std::optional<KernelRun> failed_;              // of those, the first that failed
  std::map<const void*, std::string> running_;
};

// What a loaded graph needs for debugging. One run at a time.
class GraphDebug {
 public:
  GraphDebug() = default;  // nothing is to be looked at
  GraphDebug(std::shared_ptr<SessionDebug> session, std::string graph, ProfiledGraph profiled = {})
      : session_(std::move(session)), graph_(std::move(graph)), profiled_(std::move(profiled)) {}

  // The monitor of the next run, over nodes of this graph; null: nothing is to be looked at.
  std::unique_ptr<RunMonitor> BeginRun(const graph::Graph& nodes, bool several_streams);
  SessionProfile* profile() const { return session_ ? session_->profile.get() : nullptr; }
  const ProfiledGraph& profiled() const { return profiled_; }
  int64_t step() const { return step_; }  // runs that were looked at

 private:
  void WarnOfUnknownLayers(const graph::Graph& nodes) const;

  std::shared_ptr<SessionDebug> session_;
  std::string graph_;
  ProfiledGraph profiled_;
  int64_t step_ = 0;
};

}  // namespace plimsoll::engine
