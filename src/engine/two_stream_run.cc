#include "engine/two_stream_run.h"

#include <algorithm>
#include <atomic>
#include <optional>

#include "kernels/parallel.h"

namespace plimsoll::engine {
namespace {

using graph::NodeId;
using graph::ValueId;
using Segment = TwoStreamRun::Segment;

// Cuts the tasks of a program into segments.
class Cutter {
 public:
  explicit Cutter(const Executable& executable)
      : graph_(executable.model().graph),
        program_(executable.program()),
        task_of_(graph_.nodes.size(), kNone),
        segment_of_(program_.tasks.size()) {}

  std::vector<Segment> Cut() {
    for (size_t i = 0; i < program_.tasks.size(); ++i) Add(i);
    return std::move(segments_);
  }

 private:
  static constexpr size_t kNone = static_cast<size_t>(-1);

  int StreamOf(NodeId node) const { return node.valid() ? graph_[node].memory.stream : 0; }

  // The last task of the other stream that this one waits for.
  size_t Awaited(const Task& task, int stream) const {
    if (!task.node.valid()) return last_of_[1 - stream];
    size_t last = stream == StreamPair::kHost ? last_without_node_ : kNone;
    for (const ValueId input : graph_[task.node].inputs) {
      const NodeId producer = input.valid() ? graph_[input].producer : NodeId();
      if (!producer.valid() || StreamOf(producer) == stream) continue;
      const size_t made = task_of_[producer.index()];
      if (made != kNone && (last == kNone || made > last)) last = made;
    }
    return last;
  }

  void Add(size_t index) {
    const Task& task = program_.tasks[index];
    const int stream = StreamOf(task.node);
    const size_t awaited = Awaited(task, stream);
    const size_t other = awaited == kNone ? kNone : segment_of_[awaited];
    const bool waits = other != kNone && (reached_[stream] == kNone || other > reached_[stream]);
    if (waits || open_[stream] == kNone) Open(stream, waits ? other : kNone);
    segments_[open_[stream]].tasks.push_back(static_cast<uint32_t>(index));
    segment_of_[index] = open_[stream];
    last_of_[stream] = index;
    if (task.node.valid()) {
      task_of_[task.node.index()] = index;
    } else {
      last_without_node_ = index;
    }
  }

  void Open(int stream, size_t awaited) {
    Segment segment;
    segment.stream = stream;
    if (awaited != kNone) {
      segment.after.push_back(awaited);
      segments_[awaited].awaited = true;
      reached_[stream] = awaited;
      // What follows on the other stream is no part of what is waited for.
      if (open_[1 - stream] == awaited) open_[1 - stream] = kNone;
    }
    open_[stream] = segments_.size();
    segments_.push_back(std::move(segment));
  }

  const graph::Graph& graph_;
  const Program& program_;
  std::vector<size_t> task_of_;     // by node: the last of its tasks so far
  std::vector<size_t> segment_of_;  // by task
  std::vector<Segment> segments_;
  size_t open_[2] = {kNone, kNone};     // by stream: the segment that grows
  size_t reached_[2] = {kNone, kNone};  // by stream: the last segment that it waited for
  size_t last_of_[2] = {kNone, kNone};  // by stream: task
  size_t last_without_node_ = kNone;
};

// What one run shares between its segments.
struct Progress {
  explicit Progress(size_t segments) : results(segments), clearing(segments), events(segments) {}

  std::atomic<bool> stop = false;
  std::vector<Status> results;      // each written by one segment
  std::vector<ClearCost> clearing;  // likewise
  std::vector<std::optional<device::EventId>> events;
};

}  // namespace

TwoStreamRun::TwoStreamRun(std::shared_ptr<const Executable> executable)
    : executable_(std::move(executable)), segments_(Cutter(*executable_).Cut()) {}

bool TwoStreamRun::Pays(const Executable& executable) {
  const auto& order = executable.model().planned.order;
  return std::any_of(order.begin(), order.end(), [&](NodeId id) {
    return executable.model().graph[id].memory.stream == StreamPair::kHost;
  });
}

Status TwoStreamRun::Run(StreamPair& streams, int threads, Executable::Addresses& addresses,
                         const Executable::Call& call, const Executable::BeforeTask& before) const {
  // Shared with what is launched, which may outlive a device's failure to wait for it.
  const auto progress = std::make_shared<Progress>(segments_.size());
  executable_->SetPorts(addresses, call);
  const auto launch = [&](size_t index) -> Status {
    const Segment& segment = segments_[index];
    for (const size_t awaited : segment.after) {
      PLIMSOLL_TRY(streams.Wait(segment.stream, *progress->events[awaited]));
    }
    PLIMSOLL_TRY(streams.Launch(segment.stream, [&, progress, index] {
      if (progress->stop.load()) return;
      const Segment& mine = segments_[index];
      kernels::SetThreads(mine.stream == StreamPair::kCore ? threads : 1);
      Executable::Call own = call;
      own.clearing = &progress->clearing[index];
      progress->results[index] = executable_->RunTasks(mine.tasks, addresses, own, before);
      if (!progress->results[index].ok()) progress->stop = true;
    }));
    if (segment.awaited) {
      PLIMSOLL_ASSIGN(progress->events[index], streams.Record(segment.stream));
    }
    return {};
  };
  Status done;
  for (size_t i = 0; i < segments_.size() && done.ok(); ++i) done = launch(i);
  if (!done.ok()) progress->stop = true;
  for (const int stream : {StreamPair::kCore, StreamPair::kHost}) {
    const Status finished = streams.Synchronize(stream);
    if (!finished.ok()) progress->stop = true;
    if (done.ok()) done = finished;
  }
  for (const auto& event : progress->events) {
    if (event) streams.Forget(*event);
  }
  PLIMSOLL_TRY(done);
  for (size_t i = 0; i < segments_.size(); ++i) {
    PLIMSOLL_TRY(progress->results[i]);
    if (call.clearing != nullptr) *call.clearing += progress->clearing[i];
  }
  return {};
}

}  // namespace plimsoll::engine
