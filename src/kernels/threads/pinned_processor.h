#pragma once

#include <pthread.h>

namespace plimsoll::kernels {

// A thread stays on one processor while this lives: of those that the calling thread may use, the
// one that fewest others of the process were pinned to, and not the caller's own where there is
// another. Then it may use again what the caller may. Where the system refuses, nothing happens.
class PinnedProcessor {
 public:
  explicit PinnedProcessor(pthread_t thread);
  PinnedProcessor(const PinnedProcessor&) = delete;
  PinnedProcessor& operator=(const PinnedProcessor&) = delete;
  ~PinnedProcessor();

  // The thread is no more, as in a process that fork has made.
  void Forget() { thread_is_there_ = false; }

 private:
  const pthread_t thread_;
  bool thread_is_there_ = true;
  int processor_ = -1;  // none
};

}  // namespace plimsoll::kernels
