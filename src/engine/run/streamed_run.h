#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "engine/run/executable.h"
#include "engine/run/stream_set.h"
#include "plimsoll/base/status.h"

namespace plimsoll::engine {

// How many threads a kernel may use.
struct KernelThreads {
  int first = 1;   // on stream 0
  int others = 1;  // on each other stream
};

// Runs an executable whose nodes are on several streams (plimsoll.stream, or
// compile::MoveHostOperatorsToOwnStream): the nodes of a stream in order, those of different
// streams side by side, and an event for each wait of the plan (compile::Timeline::waits). A node
// with bodies runs as one. What the run clears and copies at its start and at its end, the calling
// thread does before all streams and after them. Results are those of a run on one stream. On a
// device that the host cannot reach the calling thread sends everything to the streams, and waits
// only for the conditions of branches.
//
// Immutable after construction; a run uses a StreamSet alone and returns when everything that it
// launched has ended, also when it fails.
class StreamedRun {
 public:
  explicit StreamedRun(std::shared_ptr<const Executable> executable);

  // How many streams the nodes of an executable are on.
  static size_t StreamsOf(const Executable& executable);

  // As Executable::Run; `before` is called by the thread that runs the task. `streams` has as many
  // as the executable needs.
  Status Run(StreamSet& streams, const KernelThreads& threads, Executable::Addresses& addresses,
             const Executable::Call& call, const Executable::BeforeTask& before = {}) const;

  // Tasks that one stream runs without waiting in between.
  struct Segment {
    int stream = 0;
    std::vector<Program::Range> tasks;
    std::vector<size_t> after;  // segments of other streams, all before this one
    bool awaited = false;       // by some later segment
  };
  const std::vector<Segment>& segments() const { return segments_; }

 private:
  struct Progress;
  Status RunOnHost(StreamSet& streams, const KernelThreads& threads,
                   Executable::Addresses& addresses, const Executable::Call& call,
                   const Executable::BeforeTask& before) const;
  Status RunEnqueued(StreamSet& streams, const KernelThreads& threads,
                     Executable::Addresses& addresses, const Executable::Call& call,
                     const Executable::BeforeTask& before) const;
  Status Launch(StreamSet& streams, const KernelThreads& threads,
                const std::shared_ptr<Progress>& progress, size_t index, TaskMonitor* monitor,
                const std::function<Status(size_t)>& run) const;

  std::shared_ptr<const Executable> executable_;
  std::vector<Segment> segments_;
};

}  // namespace plimsoll::engine
