#pragma once

#include "plan/packing/packing.h"

namespace plimsoll::plan {

// The techniques of the exact search, each of which may be switched off to measure it. The proven
// answer is the same under any choice; only the steps differ.
struct ExactTechniques {
  bool divisor = true;         // scale sizes by their common divisor
  bool decomposition = true;   // solve separately what no unplaced life connects
  bool dominance = true;       // never leave a gap that a waiting item would fill
  bool exclusion = true;       // an item refused at its lowest place must stand on a waiting one
  bool section_bound = true;   // per moment: floors of waiting items in sequence, not their least
  bool not_first = true;       // what cannot come next in a section stands on what can
  bool refutations = true;     // remember states from which no placement exists
  bool tightest_first = true;  // try first what lies where most bytes wait
  bool restarts = true;        // several orders in turn, with growing shares of the steps
};

// A branch and bound over canonical placements (every item at address 0, on another item, or
// fixed). Minimises, or decides `effort.capacity`; starts from the best greedy placement, so there
// is an incumbent however small the effort. `optimal` and `infeasible` are proofs. One thread, any
// number of calls at once; deterministic unless `deadline_hit`. Memory O(n * overlaps): for some
// thousand items; PackBest cuts larger packings down to that.
PackingAnswer PackExact(const Packing& packing, const PackingEffort& effort,
                        const ExactTechniques& techniques = {});

// The same from a placement that the caller has: improves `answer`, whose `lower_bound` must be
// set, and does nothing when it is already good enough or the packing is too large to search. Adds
// to `answer.steps`.
void ImproveExactly(const Packing& packing, const PackingEffort& effort,
                    const ExactTechniques& techniques, PackingAnswer& answer);

}  // namespace plimsoll::plan
