#pragma once

#include <cstdint>
#include <vector>

#include "plan/packing/packing.h"

namespace plimsoll::plan {

// Why nothing fits into a capacity: items (ascending indices) that cannot be placed together.
struct InfeasibleSet {
  std::vector<int32_t> items;  // empty: no proof within the effort, or everything fits
  bool minimal = false;        // proven: without any one of them the others fit
};

// Where a sum of live bytes is too large, what lives there; else what is left of the packing after
// everything was taken out, first in large groups, that the exact search's proof does not need.
// `effort.capacity` is ignored. One thread; deterministic unless the deadline cuts it.
InfeasibleSet FindInfeasibleSet(const Packing& packing, int64_t capacity,
                                const PackingEffort& effort);

}  // namespace plimsoll::plan
