#include "kernels/parallel.h"

#include <algorithm>

// Without OpenMP (clang with no libomp beside it) everything runs in the calling thread.
#ifdef _OPENMP
#include <omp.h>
#else
static void omp_set_num_threads(int) {}
static int omp_get_max_threads() { return 1; }
#endif

namespace plimsoll::kernels {

void SetThreads(int threads) { omp_set_num_threads(std::max(threads, 1)); }

int Threads() { return omp_get_max_threads(); }

void ParallelFor(int64_t count, int64_t grain, ParallelBody body, const void* context) {
  const int64_t most = std::max<int64_t>(count / std::max<int64_t>(grain, 1), 1);
  const int64_t parts = std::min<int64_t>(most, Threads());
  if (parts <= 1) {
    if (count > 0) body(0, count, context);
    return;
  }
#ifdef _OPENMP
#pragma omp parallel for num_threads(static_cast <int>(parts)) schedule(static, 1)
#endif
  for (int64_t part = 0; part < parts; ++part) {
    body(count * part / parts, count * (part + 1) / parts, context);
  }
}

}  // namespace plimsoll::kernels
