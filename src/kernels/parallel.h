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

// Calls `body(part, thread, context)` once for each of `parts` parts, at most kMostRegionParts, in
// the threads of the calling thread, itself among them, and returns when all are done. Parts that
// follow each other go to one thread as far as all are equally fast; `thread` is below Threads()
// and one part's at a time. Where parts wait for each other (`together`), each has a thread of its
// own; false, with nothing begun, where the system gives too few. Not within a region.
using RegionBody = void (*)(int part, int thread, const void* context);
bool RunRegion(int parts, bool together, RegionBody body, const void* context);
inline constexpr int kMostRegionParts = 1 << 15;
bool InRegion();  // the calling thread runs a part of one

// Into so many parts work is cut for each thread, where there is enough of it: those who are done
// early take parts of those who are late.
inline constexpr int64_t kPartsOfThread = 4;
// The same of work whose parts cost nothing to begin: more than two threads wait longer for the
// slowest of them.
constexpr int64_t MostPartsOfThread(int64_t threads) {
  return threads > 2 ? 2 * kPartsOfThread : kPartsOfThread;
}

// Calls `body(begin, end, context)` over [0, count) in parts of at least `grain` items, each item
// once; returns when all are done. As many parts as threads, or as many for each thread, up to
// kPartsOfThread. Parts depend on count, grain and the number of threads only. Allocates nothing.
using ParallelBody = void (*)(int64_t begin, int64_t end, const void* context);
void ParallelFor(int64_t count, int64_t grain, ParallelBody body, const void* context);

// Calls `body(piece, thread, context)` for each piece of [0, pieces), in any order, and returns
// when all are done. `thread` is below `threads`, below Threads(), and one call's at a time: for
// memory that a piece needs while it is worked on. Who takes a piece must not change its results.
// Allocates nothing.
using PieceBody = void (*)(int64_t piece, int64_t thread, const void* context);
void ParallelPieces(int64_t pieces, int64_t threads, PieceBody body, const void* context);

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

// The same for a callable (int64_t piece, int64_t thread).
template <typename Body>
void ParallelPieces(int64_t pieces, int64_t threads, const Body& body) {
  ParallelPieces(
      pieces, threads,
      [](int64_t piece, int64_t thread, const void* context) {
        (*static_cast<const Body*>(context))(piece, thread);
      },
      &body);
}

}  // namespace plimsoll::kernels
