#pragma once

#include <cstdint>
#include <type_traits>

namespace plimsoll::kernels {

// For as long as it lives, kernels that the calling thread prepares or runs may use this many
// threads, oneDNN's included; then as many as before. The threads belong to the calling thread: all
// sessions that it runs share them, and threads that run sessions at once share the processors that
// the process may use, each its part of them. How work is cut, and so every bit of a result,
// depends on the number given here alone.
class ThreadScope {
 public:
  explicit ThreadScope(int threads);
  ~ThreadScope();
  ThreadScope(const ThreadScope&) = delete;
  ThreadScope& operator=(const ThreadScope&) = delete;

 private:
  const int before_;
};
int Threads();  // in the innermost scope of the calling thread; all usable cores outside of any

// For as long as it lives, where `pinned`: the threads that work for the calling thread stay each
// on a processor of its own, as far as there are enough. The calling thread itself goes where it
// will.
class PinScope {
 public:
  explicit PinScope(bool pinned);
  ~PinScope();
  PinScope(const PinScope&) = delete;
  PinScope& operator=(const PinScope&) = delete;

 private:
  const bool before_;
};

// Calls `body(part, context)` once for each of `parts` parts in the threads of the calling thread,
// itself among them, and returns when all are done. Where parts wait for each other (`together`),
// each has a thread of its own; false, with nothing begun, where the system gives too few. Not
// within a region.
using RegionBody = void (*)(int part, const void* context);
bool RunRegion(int parts, bool together, RegionBody body, const void* context);
bool InRegion();  // the calling thread runs a part of one

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
