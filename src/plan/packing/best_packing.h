#pragma once

#include "plan/packing/infeasible_packing.h"  // IWYU pragma: export
#include "plan/packing/packing.h"

namespace plimsoll::plan {

// The combination that is shipped and benchmarked. Every greedy order; for large packings, repairs
// of these: what ended too high is placed first the next time; then the exact search, where it can
// be afforded. Never worse than PackGreedy with any order (ties go to the earlier order, and greedy
// before search), save that with more than 100,000 items only as many orders are tried as
// `effort.steps` allows, an item placed counting as a step. One thread; deterministic unless
// `deadline_hit`; near O(n log n) time for each order. HybridMemAssigner uses it for packings whose
// lives are intervals.
PackingAnswer PackBest(const Packing& packing, const PackingEffort& effort);

}  // namespace plimsoll::plan
