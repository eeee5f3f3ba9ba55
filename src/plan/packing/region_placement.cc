#include "plan/packing/region_placement.h"

#include <algorithm>

namespace plimsoll::plan {

double Budget::MillisecondsLeft() const {
  if (!deadline) return 0;
  constexpr double kLeast = 0.01;
  const std::chrono::duration<double, std::milli> left =
      *deadline - std::chrono::steady_clock::now();
  return std::max(left.count(), kLeast);
}

bool Budget::Expired() const {
  if (stop != nullptr && stop->load(std::memory_order_relaxed)) return true;
  return deadline && std::chrono::steady_clock::now() >= *deadline;
}

CoveringPacking Cover(const BlockRegion& region) {
  CoveringPacking cover;
  cover.packing.items.reserve(region.blocks.size());
  cover.blocks.reserve(region.blocks.size());
  for (uint32_t i = 0; i < region.blocks.size(); ++i) {
    const Block& block = region.blocks[i];
    if (block.idle()) continue;
    cover.packing.items.push_back({.size = block.size,
                                   .begin = block.whole.begin,
                                   .end = block.whole.end,
                                   .alignment = block.alignment,
                                   .fixed = block.fixed});
    cover.blocks.push_back(i);
  }
  return cover;
}

RegionPlacement Uncover(const BlockRegion& region, const CoveringPacking& cover,
                        const std::vector<int64_t>& offsets) {
  RegionPlacement placement;
  placement.lower_bound = region.lower_bound;
  placement.offsets.resize(region.blocks.size());
  for (size_t i = 0; i < region.blocks.size(); ++i) {
    placement.offsets[i] = std::max<int64_t>(region.blocks[i].fixed, 0);
  }
  for (size_t i = 0; i < offsets.size(); ++i) placement.offsets[cover.blocks[i]] = offsets[i];
  for (size_t i = 0; i < region.blocks.size(); ++i) {
    placement.height = std::max(placement.height, placement.offsets[i] + region.blocks[i].size);
  }
  return placement;
}

PackingEffort EffortFor(const BlockProblem& problem, const BlockRegion& region,
                        const Budget& budget) {
  PackingEffort effort{.steps = budget.steps,
                       .deadline_ms = budget.MillisecondsLeft(),
                       .good_enough = budget.good_enough,
                       .stop = budget.stop};
  const auto& capacity = problem.problem->region(region.region).capacity;
  if (budget.stop_at_capacity && capacity) effort.capacity = capacity->value();
  return effort;
}

}  // namespace plimsoll::plan
