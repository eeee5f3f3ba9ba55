#pragma once

#include <cstdint>
#include <type_traits>

namespace plimsoll::kernels {

// For as long as it lives, kernels that the calling thread prepares or runs may use this many
// threads, oneDNN's included; then as many as before. The waiting of idle threads is passive.
class ThreadScope {
 public:
  explicit ThreadScope(int threads);
  ~ThreadScope();
  ThreadScope(const ThreadScope&) = delete;
  ThreadScope& operator=(const ThreadScope&) = delete;

 private:
  const int before_;
};
int Threads();  // in the innermost scope of the calling thread

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
