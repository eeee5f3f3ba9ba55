#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/executable.h"
#include "engine/stream_pair.h"
#include "plimsoll/base/status.h"

namespace plimsoll::engine {

// Runs an executable whose nodes were given to two streams (compile::PutHostOperatorsApart): the
// tasks of a stream in order, those of both beside each other, and an event wherever a node needs
// what the other stream makes. The plan counts on these events alone. Results are those of a run on
// one stream.
//
// Immutable after construction; a run uses a StreamPair alone and returns when both of its streams
// have finished, also when it fails.
class TwoStreamRun {
 public:
  explicit TwoStreamRun(std::shared_ptr<const Executable> executable);

  // Whether there is anything to run on the second stream.
  static bool Pays(const Executable& executable);

  // As Executable::Run; `threads` is what a kernel of the first stream may use. `before` is called
  // by the thread that runs the task.
  Status Run(StreamPair& streams, int threads, Executable::Addresses& addresses,
             const Executable::Call& call, const Executable::BeforeTask& before = {}) const;

  // Tasks that one stream runs without waiting in between.
  struct Segment {
    int stream = 0;
    std::vector<uint32_t> tasks;
    std::vector<size_t> after;  // segments of the other stream, all before this one
    bool awaited = false;       // by some later segment
  };
  const std::vector<Segment>& segments() const { return segments_; }

 private:
  std::shared_ptr<const Executable> executable_;
  std::vector<Segment> segments_;
};

}  // namespace plimsoll::engine
