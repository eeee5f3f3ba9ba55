#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plan/assign/blocks.h"
#include "plan/packing/packing.h"

namespace plimsoll::plan {

// How much work an assigner may do.
struct Budget {
  int64_t steps = 0;
  std::optional<std::chrono::steady_clock::time_point> deadline = {};
  bool stop_at_capacity = false;            // any placement within the region's capacity will do
  const std::atomic<bool>* stop = nullptr;  // true: cut it, as the deadline does
  double good_enough = 0;  // so will one that is at most this share above the lower bound

  // Milliseconds until the deadline, at least a little; 0 when there is none.
  double MillisecondsLeft() const;
  bool Expired() const;
};

// Where the blocks of one region lie.
struct RegionPlacement {
  std::vector<int64_t> offsets;  // one per block
  int64_t height = 0;
  int64_t lower_bound = 0;  // proven
  bool infeasible = false;  // proven: nothing fits into the region's capacity
  bool deadline_hit = false;
  int64_t steps = 0;
  std::string assigner;  // who placed it; empty when there was nothing to choose
};

// Where the blocks of all regions lie: what AssignMemoryWithReuse returns.
struct Placement {
  std::vector<RegionPlacement> regions;
};

// The blocks as rectangles that cover them, idle blocks left out; `blocks` gets the block of each
// item. For lives on one line a packing of these is a placement of the blocks. It is the same
// problem when the region is plain.
struct CoveringPacking {
  Packing packing;
  std::vector<uint32_t> blocks;
};
CoveringPacking Cover(const BlockRegion& region);

// Offsets of items as offsets of blocks, with height and bound. Idle blocks lie at their fixed
// offset or at 0.
RegionPlacement Uncover(const BlockRegion& region, const CoveringPacking& cover,
                        const std::vector<int64_t>& offsets);

// The effort of the packing core that this budget means for this region.
PackingEffort EffortFor(const BlockProblem& problem, const BlockRegion& region,
                        const Budget& budget);

}  // namespace plimsoll::plan
