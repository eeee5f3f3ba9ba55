#include "kernels/threads/pinned_processor.h"

#include <sched.h>

#include <array>
#include <mutex>

namespace plimsoll::kernels {
namespace {

// Threads by processor. Never destroyed: threads may end after the program's statics.
struct Claims {
  std::mutex mutex;
  std::array<int, CPU_SETSIZE> threads{};
};
Claims& AllClaims() {
  static Claims* const claims = new Claims;
  return *claims;
}

}  // namespace

PinnedProcessor::PinnedProcessor(pthread_t thread) : thread_(thread) {
  cpu_set_t usable;
  if (sched_getaffinity(0, sizeof(usable), &usable) != 0) return;
  const int own = sched_getcpu();
  Claims& claims = AllClaims();
  const std::lock_guard lock(claims.mutex);
  const auto load = [&](int at) {
    return 2 * claims.threads[static_cast<size_t>(at)] + (at == own ? 1 : 0);
  };
  int best = -1;
  for (int at = 0; at < CPU_SETSIZE; ++at) {
    if (CPU_ISSET(at, &usable) && (best < 0 || load(at) < load(best))) best = at;
  }
  if (best < 0) return;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(best, &one);
  if (pthread_setaffinity_np(thread, sizeof(one), &one) != 0) return;
  processor_ = best;
  ++claims.threads[static_cast<size_t>(best)];
}

PinnedProcessor::~PinnedProcessor() {
  if (processor_ < 0) return;
  cpu_set_t usable;
  if (thread_is_there_ && sched_getaffinity(0, sizeof(usable), &usable) == 0) {
    pthread_setaffinity_np(thread_, sizeof(usable), &usable);
  }
  Claims& claims = AllClaims();
  const std::lock_guard lock(claims.mutex);
  --claims.threads[static_cast<size_t>(processor_)];
}

}  // namespace plimsoll::kernels
