#include "engine/run/streamed_run.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>

#include "engine/transfer/device_queue.h"
#include "kernels/parallel.h"

namespace plimsoll::engine {
namespace {

using compile::StreamWait;
using compile::Timeline;
using Segment = StreamedRun::Segment;

constexpr size_t kNone = static_cast<size_t>(-1);

// Cuts the nodes of a program into segments: a new one where a node waits, and behind a node that
// is waited for.
class Cutter {
 public:
  explicit Cutter(const Executable& executable)
      : timeline_(executable.model().planned.timeline),
        program_(executable.program()),
        segment_of_(timeline_.steps.size(), kNone),
        awaited_(timeline_.steps.size()),
        open_(timeline_.steps_of_stream.size(), kNone) {
    for (const StreamWait& wait : timeline_.waits) {
      awaited_[static_cast<size_t>(wait.before)] = true;
    }
  }

  std::vector<Segment> Cut() {
    size_t step = 0;
    auto wait = timeline_.waits.begin();
    for (const Program::Unit& unit : program_.units) {
      const size_t first = step;
      step = EndOf(first);
      const auto stream = static_cast<size_t>(timeline_.steps[first].stream);
      const bool waits =
          wait != timeline_.waits.end() && wait->after == static_cast<int64_t>(first);
      if (waits || open_[stream] == kNone) Open(stream);
      Segment& segment = segments_[open_[stream]];
      for (; wait != timeline_.waits.end() && wait->after == static_cast<int64_t>(first); ++wait) {
        const size_t before = segment_of_[static_cast<size_t>(wait->before)];
        segment.after.push_back(before);
        segments_[before].awaited = true;
      }
      segment.tasks.push_back(unit.tasks);
      segment_of_[step - 1] = open_[stream];
      if (awaited_[step - 1]) open_[stream] = kNone;
    }
    return std::move(segments_);
  }

 private:
  // One past the last step of the node whose first step this is.
  size_t EndOf(size_t step) const {
    using Kind = compile::Step::Kind;
    for (int depth = 0;; ++step) {
      depth += timeline_.steps[step].kind == Kind::kBegin ? 1 : 0;
      depth -= timeline_.steps[step].kind == Kind::kEnd ? 1 : 0;
      if (depth == 0) return step + 1;
    }
  }

  void Open(size_t stream) {
    open_[stream] = segments_.size();
    Segment segment;
    segment.stream = static_cast<int>(stream);
    segments_.push_back(std::move(segment));
  }

  const Timeline& timeline_;
  const Program& program_;
  std::vector<size_t> segment_of_;  // by step, the last of a node
  std::vector<bool> awaited_;       // by step
  std::vector<size_t> open_;        // by stream: the segment that grows
  std::vector<Segment> segments_;
};

}  // namespace

// What one run shares between its segments, and with work that outlives a device's failure to wait
// for it.
struct StreamedRun::Progress {
  Progress(size_t segments, size_t streams)
      : results(segments), clearing(segments), events(segments), idle_since(streams) {}

  // Work that was launched and has neither ended nor been dropped.
  void Begin() {
    const std::lock_guard lock(mutex);
    ++pending;
  }
  void End() {
    const std::lock_guard lock(mutex);
    --pending;
    ended.notify_all();
  }
  void WaitUntilAllEnded() {
    std::unique_lock lock(mutex);
    ended.wait(lock, [this] { return pending == 0; });
  }

  std::atomic<bool> stop = false;
  std::vector<Status> results;      // each written by one segment
  std::vector<ClearCost> clearing;  // likewise
  std::vector<std::optional<device::EventId>> events;
  // By stream, each written by that stream: the end of its last segment. Under a monitor alone.
  std::vector<TaskMonitor::TimePoint> idle_since;
  std::mutex mutex;
  std::condition_variable ended;
  int pending = 0;
};

StreamedRun::StreamedRun(std::shared_ptr<const Executable> executable)
    : executable_(std::move(executable)), segments_(Cutter(*executable_).Cut()) {}

size_t StreamedRun::StreamsOf(const Executable& executable) {
  return std::max<size_t>(executable.model().planned.timeline.steps_of_stream.size(), 1);
}

Status StreamedRun::Launch(StreamSet& streams, const KernelThreads& threads,
                           const std::shared_ptr<Progress>& progress, size_t index,
                           TaskMonitor* monitor, const std::function<Status(size_t)>& run) const {
  const Segment& segment = segments_[index];
  for (const size_t awaited : segment.after) {
    PLIMSOLL_TRY(streams.Wait(segment.stream, *progress->events[awaited]));
  }
  progress->Begin();
  const std::shared_ptr<void> pending(nullptr, [progress](void*) { progress->End(); });
  const int count = segment.stream == 0 ? threads.first : threads.others;
  const auto launched = monitor == nullptr ? TaskMonitor::TimePoint() : monitor->Now();
  const auto run_one = [&segment, progress, index, monitor, launched, &run]() -> Status {
    if (monitor == nullptr) return run(index);
    TaskMonitor::TimePoint& idle_since = progress->idle_since[static_cast<size_t>(segment.stream)];
    if (!segment.after.empty()) {
      PLIMSOLL_TRY(monitor->CheckStreamWait(std::max(launched, idle_since), segment.stream));
    }
    Status done = run(index);
    idle_since = monitor->Now();
    return done;
  };
  PLIMSOLL_TRY(streams.Launch(segment.stream, [progress, pending, index, count, run_one] {
    if (progress->stop.load()) return;
    const kernels::ThreadScope threads(count);
    progress->results[index] = run_one();
    if (!progress->results[index].ok()) progress->stop = true;
  }));
  if (!segment.awaited) return {};
  PLIMSOLL_ASSIGN(progress->events[index], streams.Record(segment.stream));
  return {};
}

Status StreamedRun::Run(StreamSet& streams, const KernelThreads& threads,
                        Executable::Addresses& addresses, const Executable::Call& call,
                        const Executable::BeforeTask& before) const {
  const bool on_host = executable_->side().host_reachable;
  const kernels::ThreadScope own(threads.first);
  executable_->SetPorts(addresses, call);
  return on_host ? RunOnHost(streams, threads, addresses, call, before)
                 : RunEnqueued(streams, threads, addresses, call, before);
}

Status StreamedRun::RunEnqueued(StreamSet& streams, const KernelThreads& threads,
                                Executable::Addresses& addresses, const Executable::Call& call,
                                const Executable::BeforeTask& before) const {
  const Program& program = executable_->program();
  const std::shared_ptr<DeviceQueue::Failure> failure = DeviceQueue::MakeFailure();
  std::deque<DeviceQueue> queues;
  for (size_t i = 0; i < StreamsOf(*executable_); ++i) {
    const auto stream = static_cast<int>(i);
    queues.emplace_back(executable_->side(), streams.At(stream),
                        stream == 0 ? threads.first : threads.others, failure);
  }
  const auto finish = [&](Status done) {
    for (DeviceQueue& queue : queues) {
      const Status finished = FinishWithin(call.monitor, TaskMonitor::Wait::kStream, queue);
      // What failed first is the reason, not that others were left out.
      if (done.ok() || done.error().code == "run.cancelled") done = finished.ok() ? done : finished;
    }
    return done;
  };
  Executable::Call own = call;
  own.queue = &queues.front();
  PLIMSOLL_TRY(finish(executable_->RunTasks(program.Prologue(), addresses, own, before)));
  own.half_applied = nullptr;
  std::vector<std::optional<device::EventId>> events(segments_.size());
  const auto enqueue = [&](size_t index) -> Status {
    const Segment& segment = segments_[index];
    const bool timed = call.monitor != nullptr && !segment.after.empty();
    const auto since = timed ? std::make_shared<TaskMonitor::TimePoint>() : nullptr;
    if (timed) {
      PLIMSOLL_TRY(streams.Launch(segment.stream,
                                  [since, monitor = call.monitor] { *since = monitor->Now(); }));
    }
    for (const size_t awaited : segment.after) {
      PLIMSOLL_TRY(streams.Wait(segment.stream, *events[awaited]));
    }
    if (timed) {
      DeviceQueue& queue = queues[static_cast<size_t>(segment.stream)];
      PLIMSOLL_TRY(
          streams.Launch(segment.stream, [since, &segment, &queue, monitor = call.monitor] {
            const Status waited = monitor->CheckStreamWait(*since, segment.stream);
            if (!waited.ok()) queue.Cancel(waited.error());
          }));
    }
    own.queue = &queues[static_cast<size_t>(segment.stream)];
    for (const Program::Range& range : segment.tasks) {
      PLIMSOLL_TRY(executable_->RunTasks(range, addresses, own, before));
    }
    if (!segment.awaited) return {};
    PLIMSOLL_ASSIGN(events[index], streams.Record(segment.stream));
    return {};
  };
  Status done;
  for (size_t i = 0; i < segments_.size() && done.ok(); ++i) done = enqueue(i);
  done = finish(done);
  for (const auto& event : events) {
    if (event) streams.Forget(*event);
  }
  PLIMSOLL_TRY(done);
  own.queue = &queues.front();
  own.half_applied = call.half_applied;
  return finish(executable_->RunTasks(program.Epilogue(), addresses, own, before));
}

Status StreamedRun::RunOnHost(StreamSet& streams, const KernelThreads& threads,
                              Executable::Addresses& addresses, const Executable::Call& call,
                              const Executable::BeforeTask& before) const {
  const auto progress = std::make_shared<Progress>(segments_.size(), StreamsOf(*executable_));
  const Program& program = executable_->program();
  PLIMSOLL_TRY(executable_->RunTasks(program.Prologue(), addresses, call, before));
  const std::function<Status(size_t)> run = [&](size_t index) -> Status {
    Executable::Call own = call;
    own.clearing = &progress->clearing[index];
    own.half_applied = nullptr;
    for (const Program::Range& range : segments_[index].tasks) {
      PLIMSOLL_TRY(executable_->RunTasks(range, addresses, own, before));
    }
    return {};
  };
  Status done;
  for (size_t i = 0; i < segments_.size() && done.ok(); ++i) {
    done = Launch(streams, threads, progress, i, call.monitor, run);
  }
  if (!done.ok()) progress->stop = true;
  for (size_t stream = 0; stream < StreamsOf(*executable_); ++stream) {
    const Status finished = streams.Synchronize(static_cast<int>(stream), call.monitor);
    if (!finished.ok()) progress->stop = true;
    if (done.ok()) done = finished;
  }
  progress->WaitUntilAllEnded();
  for (const auto& event : progress->events) {
    if (event) streams.Forget(*event);
  }
  // What stopped the others is the reason, not that they were stopped.
  for (const Status& result : progress->results) PLIMSOLL_TRY(result);
  PLIMSOLL_TRY(done);
  if (call.clearing != nullptr) {
    for (const ClearCost& cost : progress->clearing) *call.clearing += cost;
  }
  return executable_->RunTasks(program.Epilogue(), addresses, call, before);
}

}  // namespace plimsoll::engine
