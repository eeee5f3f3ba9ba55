#pragma once

#include <cstdint>
#include <vector>

#include "plan/packing.h"

namespace plimsoll::plan {

// The combination that is shipped and benchmarked. Every greedy order; for large packings, repairs
// of these: what ended too high is placed first the next time; then the exact search, where it can
// be afforded. Never worse than PackGreedy with any order (ties go to the earlier order, and greedy
// before search), save that with more than 100,000 items only as many orders are tried as
// `effort.steps` pays for, an item placed counting as a step. One thread; deterministic unless
// `deadline_hit`; near O(n log n) time for each order. HybridMemAssigner uses it for packings whose
// lives are intervals.
PackingAnswer PackBest(const Packing& packing, const PackingEffort& effort);

// Why nothing fits into `capacity`: items (ascending indices) that cannot be placed together.
struct InfeasibleSet {
  std::vector<int32_t> items;  // empty: no proof within the effort, or everything fits
  bool minimal = false;        // proven: without any one of them the others fit
};

// Finds a set of items that does not fit into `capacity`: those live at one moment when already
// their sum is too large, else what is left of the packing after every item that the proof does not
// need was taken out. `effort.capacity` is ignored.
InfeasibleSet FindInfeasibleSet(const Packing& packing, int64_t capacity,
                                const PackingEffort& effort);

}  // namespace plimsoll::plan
