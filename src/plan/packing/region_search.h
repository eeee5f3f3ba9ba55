#pragma once

#include <vector>

#include "plan/assign/blocks.h"
#include "plan/packing/greedy_packing.h"
#include "plan/packing/region_placement.h"

namespace plimsoll::plan {

// One block after the other in the given order, each at its lowest place. Near-linear for a plain
// region, else see BlockSpace.
RegionPlacement PlaceGreedily(const BlockProblem& problem, const BlockRegion& region,
                              GreedyOrder order);

// The best that this room can do with a region: for a plain one the packing core's search with its
// proofs, else the same over covering rectangles, every greedy order over the true shapes, and a
// local search from the best of these. Never worse than PlaceGreedily with any order.
RegionPlacement SearchPlacement(const BlockProblem& problem, const BlockRegion& region,
                                const Budget& budget);

}  // namespace plimsoll::plan
