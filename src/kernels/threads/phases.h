#pragma once

#include <cstdint>

namespace plimsoll::kernels {

// Work in phases: a share of a phase begins when every share of the phase before is done. Lanes are
// such work side by side, and do not wait for each other.
struct Phases {
  int lanes = 1;      // at most kMostPhaseLanes
  int shares = 1;     // of each phase; of all lanes together at most kMostPhaseShares
  int64_t count = 0;  // phases of each lane
};
inline constexpr int kMostPhaseLanes = 8;
inline constexpr int kMostPhaseShares = 128;

// Calls `body(lane, phase, share, context)` once for each, in one region of the threads of the
// calling thread, and returns when all are done. A share stays with one thread in all phases, so
// that what it reads stays in that thread's caches, as far as the thread is there: those that wait
// take the shares of threads that have not come yet at once, and those that others are late to
// begin after a moment. They spin for a bounded time, then sleep. Where one thread is all there is
// (or the caller is within a region), lane after lane is worked on in order, outside of a region.
// Allocates nothing.
using PhaseBody = void (*)(int lane, int64_t phase, int share, const void* context);
void RunPhases(const Phases& phases, PhaseBody body, const void* context);

// The same for a callable (int lane, int64_t phase, int share).
template <typename Body>
void RunPhases(const Phases& phases, const Body& body) {
  RunPhases(
      phases,
      [](int lane, int64_t phase, int share, const void* context) {
        (*static_cast<const Body*>(context))(lane, phase, share);
      },
      &body);
}

}  // namespace plimsoll::kernels
