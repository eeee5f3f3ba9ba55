#pragma once

#include <atomic>
#include <functional>
#include <set>
#include <vector>

#include "engine/run/stream_set.h"
#include "graph/graph.h"
#include "plimsoll/base/status.h"

namespace plimsoll::engine {

// Nodes that a walk over a graph has handed to the host's stream and not waited for: the values
// that they read and make are not the walk's to touch. For one thread; the work runs in another.
class HostSide {
 public:
  // `monitor`: limits how long Finish waits; may be null.
  explicit HostSide(StreamSet& streams, TaskMonitor* monitor = nullptr)
      : streams_(streams), monitor_(monitor) {}
  ~HostSide();
  HostSide(const HostSide&) = delete;
  HostSide& operator=(const HostSide&) = delete;

  // Runs `work` after all that was launched before. Work after one that failed is left out.
  Status Launch(const std::vector<graph::ValueId>& reads, const std::vector<graph::ValueId>& makes,
                std::function<Status()> work);

  bool Makes(graph::ValueId value) const { return made_.contains(value); }
  bool Touches(graph::ValueId value) const { return Makes(value) || read_.contains(value); }

  // Waits for all of it. The first error, in the order of launching; run.timeout when it took
  // longer than the monitor allows: work that has begun is waited for nevertheless.
  Status Finish();

 private:
  StreamSet& streams_;
  TaskMonitor* const monitor_;
  std::atomic<bool> stop_ = false;  // work that has not begun is left out
  std::set<graph::ValueId> read_;
  std::set<graph::ValueId> made_;
  bool pending_ = false;
  Status outcome_;  // written by the host's stream, read once that has been waited for
};

}  // namespace plimsoll::engine
