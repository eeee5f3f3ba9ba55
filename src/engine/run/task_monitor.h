#pragma once

#include <chrono>
#include <functional>
#include <string_view>

#include "graph/graph.h"
#include "kernels/kernel.h"
#include "kernels/queue.h"
#include "plimsoll/base/status.h"

namespace plimsoll::engine {

// One kernel of a run, before it is sent to its queue.
struct KernelRun {
  const graph::Graph& graph;
  graph::NodeId node;
  const kernels::Kernel& kernel;
  kernels::KernelCall call;  // what it points to stays until the run has ended
  kernels::Queue& queue;
  bool later = false;  // the queue does its work later, in memory that the host may not reach
  bool updates_variables = false;  // behind the point from which a run goes to its end
  // Where types and shapes are those of the site, and not of the graph's values.
  const kernels::KernelSite* site = nullptr;
};

// What looks at a run while it goes on, and may end it: tensors are written to files, kernels run
// between guard zones, work that takes too long ends the run. A run without one pays for a test of
// a pointer per task. Thread-safe; outlives the run.
class TaskMonitor {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  virtual ~TaskMonitor() = default;

  // Whether it looks at kernels now: where not, they are run as without it. Asked before each task.
  virtual bool LooksAtKernels() const { return true; }

  // Sends the kernel to its queue. Fails as the kernel does, where that is known at once, or with
  // what was found.
  virtual Status Run(const KernelRun& run) = 0;

  // Around each task of a planned run, by its number in the program.
  virtual void BeforeTask(size_t /*task*/) {}
  virtual void AfterTask(size_t /*task*/) {}

  // Between two tasks: fails (run.timeout) when the run has gone on for too long. `next` may be
  // invalid: a task that is no node's.
  virtual Status CheckRunTime(const graph::Graph& graph, graph::NodeId next) = 0;

  virtual TimePoint Now() = 0;
  // A stream has waited since then for other streams: fails (run.timeout) when that was too long.
  virtual Status CheckStreamWait(TimePoint since, int stream) = 0;

  // What the host waits for: the end of a stream's work, or one point in it.
  enum class Wait { kStream, kEvent };
  // Comes back when `done` says so, at once where such a wait has no limit; fails (run.timeout)
  // when it takes longer. Who called it cancels and waits for what has begun: nothing can end it.
  virtual Status Await(Wait wait, std::string_view what,
                       const std::function<Result<bool>()>& done) = 0;
};

// Waits for the queue, for as long as the monitor allows; null: without limit. Then kernels that
// have not begun are left out, what has begun goes to its end, and this fails with run.timeout.
inline Status FinishWithin(TaskMonitor* monitor, TaskMonitor::Wait wait, kernels::Queue& queue) {
  if (monitor != nullptr) {
    const Status waited =
        monitor->Await(wait, "the device's stream", [&] { return queue.IsDone(); });
    if (!waited.ok()) queue.Cancel(waited.error());
  }
  return queue.Finish();
}

}  // namespace plimsoll::engine
