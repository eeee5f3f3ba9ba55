#pragma once

#include <cstdint>
#include <type_traits>

namespace plimsoll::kernels {

// How many threads a kernel may use in the calling thread's next runs, oneDNN's included. The
// waiting of idle threads is passive.
void SetThreads(int threads);
int Threads();

// Calls `body(begin, end, context)` over [0, count) in at most Threads() parts of at least `grain`
// items, each item once; returns when all are done. Parts depend on count, grain and the number of
// threads only. Allocates nothing.
using ParallelBody = void (*)(int64_t begin, int64_t end, const void* context);
void ParallelFor(int64_t count, int64_t grain, ParallelBody body, const void* context);

// The same for a callable (int64_t begin, int64_t end).
template <typename Body>
void ParallelFor(int64_t count, int64_t grain, const Body& body) {
  ParallelFor(
      count, grain,
      [](int64_t begin, int64_t end, const void* context) {
        (*static_cast<const Body*>(context))(begin, end);
      },
      &body);
}

}  // namespace plimsoll::kernels
