#include "kernels/threads/phases.h"

#include <algorithm>
#include <atomic>
#include <cassert>

#include "kernels/parallel.h"
#include "kernels/threads/region_runner.h"
#include "kernels/threads/spin.h"

namespace plimsoll::kernels {
namespace {

// Nanoseconds that a thread waits before it takes what another is late to begin, and before it
// sleeps.
constexpr int64_t kLate = 20'000;
constexpr int64_t kSpin = 100'000;

// One call of RunPhases, of which each thread of its region runs Work once.
class PhasedRun {
 public:
  PhasedRun(const Phases& phases, int parts, PhaseBody body, const void* context)
      : phases_(phases), parts_(parts), body_(body), context_(context) {}

  void Work(int part) {
    present_[part].store(true, std::memory_order_relaxed);
    const int own = part * phases_.lanes / parts_;
    for (int i = 0; i < phases_.lanes; ++i) WorkAt((own + i) % phases_.lanes, part);
  }

 private:
  struct alignas(64) Share {
    std::atomic<int64_t> next{0};  // the phase that nobody has begun yet
  };
  struct alignas(64) Lane {
    std::atomic<int64_t> done{0};  // shares of all phases
  };

  // The thread that a share stays with; -1 where the lane has none of its own.
  int OwnerOf(int lane, int share) const {
    const int first = (lane * parts_ + phases_.lanes - 1) / phases_.lanes;
    const int end = ((lane + 1) * parts_ + phases_.lanes - 1) / phases_.lanes;
    return first == end ? -1 : first + share % (end - first);
  }

  // Goes through the lane from the phase that it is at to its end. Those whose own lane has ended
  // are guests in the others.
  void WorkAt(int lane, int part) {
    const bool is_guest = lane != part * phases_.lanes / parts_;
    std::atomic<int64_t>& done = lanes_[lane].done;
    for (;;) {
      const int64_t phase = done.load(std::memory_order_acquire) / phases_.shares;
      if (phase == phases_.count) return;
      const auto over = [&] {
        return done.load(std::memory_order_acquire) >= (phase + 1) * phases_.shares;
      };
      TakeShares(lane, phase, part, /*late=*/is_guest);
      if (SpinUntil(over, kLate)) continue;
      TakeShares(lane, phase, part, /*late=*/true);
      if (SpinUntil(over, kSpin)) continue;
      // Every share has been begun, and who ends the last one wakes all.
      for (int64_t seen; !over();) {
        seen = done.load(std::memory_order_acquire);
        if (seen < (phase + 1) * phases_.shares) done.wait(seen, std::memory_order_acquire);
      }
    }
  }

  // Its own shares, then those of threads that are not there, and where they are `late` of all:
  // from the last on, as owners begin with their first.
  void TakeShares(int lane, int64_t phase, int part, bool late) {
    for (int share = 0; share < phases_.shares; ++share) {
      if (OwnerOf(lane, share) == part) Take(lane, phase, share);
    }
    for (int share = phases_.shares - 1; share >= 0; --share) {
      const int owner = OwnerOf(lane, share);
      const bool there = owner >= 0 && present_[owner].load(std::memory_order_relaxed);
      if (late || !there) Take(lane, phase, share);
    }
  }

  void Take(int lane, int64_t phase, int share) {
    std::atomic<int64_t>& next = shares_[lane * phases_.shares + share].next;
    int64_t expected = phase;
    if (next.load(std::memory_order_relaxed) != phase ||
        !next.compare_exchange_strong(expected, phase + 1, std::memory_order_relaxed)) {
      return;
    }
    body_(lane, phase, share, context_);
    std::atomic<int64_t>& done = lanes_[lane].done;
    if ((done.fetch_add(1, std::memory_order_acq_rel) + 1) % phases_.shares == 0) done.notify_all();
  }

  const Phases phases_;
  const int parts_;
  const PhaseBody body_;
  const void* const context_;
  std::atomic<bool> present_[kMostPhaseShares] = {};
  Share shares_[kMostPhaseShares];
  Lane lanes_[kMostPhaseLanes];
};

// Phase after phase, each a region of its own.
void RunPhasesApart(const Phases& phases, PhaseBody body, const void* context) {
  struct Phase {
    int shares;
    int64_t number;
    PhaseBody body;
    const void* context;
  } phase{phases.shares, 0, body, context};
  for (; phase.number < phases.count; ++phase.number) {
    RunRegion(
        phases.lanes * phases.shares, /*together=*/false,
        [](int part, int, const void* given) {
          const Phase& now = *static_cast<const Phase*>(given);
          now.body(part / now.shares, now.number, part % now.shares, now.context);
        },
        &phase);
  }
}

}  // namespace

void RunPhases(const Phases& phases, PhaseBody body, const void* context) {
  assert(phases.lanes <= kMostPhaseLanes);
  assert(int64_t{phases.lanes} * phases.shares <= kMostPhaseShares);
  const int parts = InRegion() ? 1 : std::min(Threads(), phases.lanes * phases.shares);
  if (parts > 1 && RegionRunnerScope::IsOpen()) return RunPhasesApart(phases, body, context);
  if (parts > 1) {
    PhasedRun run(phases, parts, body, context);
    PhasedRun* const shared = &run;
    RunRegion(
        parts, /*together=*/false,
        [](int part, int, const void* given) {
          (*static_cast<PhasedRun* const*>(given))->Work(part);
        },
        &shared);
    return;
  }
  for (int lane = 0; lane < phases.lanes; ++lane) {
    for (int64_t phase = 0; phase < phases.count; ++phase) {
      for (int share = 0; share < phases.shares; ++share) body(lane, phase, share, context);
    }
  }
}

}  // namespace plimsoll::kernels
