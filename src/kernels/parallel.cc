#include "kernels/parallel.h"

#include <algorithm>

// Without OpenMP (clang without libomp) everything runs in the calling thread.
#ifdef _OPENMP
#include <omp.h>
#else
static void omp_set_num_threads(int) {}
static int omp_get_max_threads() { return 1; }
#endif

// The thread sanitizer does not see how OpenMP hands work over and takes it back, so it is told.
#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#define PLIMSOLL_UNSEEN __attribute__((no_sanitize("thread")))
// oneDNN shares its work out the same way, in code that cannot tell.
extern "C" const char* __tsan_default_suppressions() { return "called_from_lib:libdnnl.so\n"; }
// Tests start processes of their own, which make sessions.
extern "C" const char* __tsan_default_options() { return "die_after_fork=0"; }
#else
static void __tsan_release(void*) {}
static void __tsan_acquire(void*) {}
#define PLIMSOLL_UNSEEN
#endif

namespace plimsoll::kernels {

ThreadScope::ThreadScope(int threads) : before_(Threads()) {
  omp_set_num_threads(std::max(threads, 1));
}

ThreadScope::~ThreadScope() { omp_set_num_threads(before_); }

int Threads() { return omp_get_max_threads(); }

PLIMSOLL_UNSEEN void ParallelFor(int64_t count, int64_t grain, ParallelBody body,
                                 const void* context) {
  const int64_t most = std::max<int64_t>(count / std::max<int64_t>(grain, 1), 1);
  const int64_t parts = std::min<int64_t>(most, Threads());
  if (parts <= 1) {
    if (count > 0) body(0, count, context);
    return;
  }
  char given = 0;
  char done = 0;
  __tsan_release(&given);
#ifdef _OPENMP
#pragma omp parallel for num_threads(static_cast <int>(parts)) schedule(static, 1)
#endif
  for (int64_t part = 0; part < parts; ++part) {
    __tsan_acquire(&given);
    body(count * part / parts, count * (part + 1) / parts, context);
    __tsan_release(&done);
  }
  __tsan_acquire(&done);
}

}  // namespace plimsoll::kernels
