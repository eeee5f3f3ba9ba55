#include "plan/assign/plan_builder.h"

#include <algorithm>
#include <cassert>
#include <map>
#include <optional>

#include "plan/assign/block_space.h"
#include "plan/assign/zero_copy.h"
#include "plan/packing/greedy_packing.h"
#include "plan/problem/contradiction.h"

namespace plimsoll::plan {
namespace {

// The blocks of a region that are settled before all others, largest first among those without an
// offset: the result does not depend on any other block.
BlockRegion SettledFirst(const BlockRegion& region, std::vector<uint32_t>& origin) {
  origin.clear();
  for (uint32_t i = 0; i < region.blocks.size(); ++i) {
    const Block& block = region.blocks[i];
    if (!block.idle() && (block.fixed >= 0 || block.is_fixed_addr_prior)) origin.push_back(i);
  }
  std::stable_sort(origin.begin(), origin.end(), [&](uint32_t a, uint32_t b) {
    const Block& x = region.blocks[a];
    const Block& y = region.blocks[b];
    if ((x.fixed >= 0) != (y.fixed >= 0)) return x.fixed >= 0;
    return x.fixed < 0 && x.size > y.size;
  });
  BlockRegion subset;
  subset.region = region.region;
  subset.plain = region.plain;
  subset.pieces = region.pieces;
  for (const uint32_t index : origin) subset.blocks.push_back(region.blocks[index]);
  return subset;
}

// Settles one block after the other and returns the first whose fixed offset is taken, or none.
std::optional<uint32_t> SettleShapes(const BlockProblem& problem, BlockRegion& subset) {
  const BlockRegion shapes = subset;
  BlockSpace space(problem, shapes);
  for (uint32_t i = 0; i < subset.blocks.size(); ++i) {
    Block& block = subset.blocks[i];
    const bool free = block.fixed < 0;
    const int64_t offset = space.LowestGap(i, free ? 0 : block.fixed);
    if (!free && offset != block.fixed) return i;
    block.fixed = offset;
    space.Place(i, offset);
  }
  return std::nullopt;
}

// The first of two rectangles with fixed offsets that overlap, found by a sweep over time.
std::optional<uint32_t> FixedCollision(const BlockRegion& subset) {
  std::vector<std::pair<int32_t, uint32_t>> ends;
  std::vector<uint32_t> begins;
  for (uint32_t i = 0; i < subset.blocks.size(); ++i) {
    if (subset.blocks[i].fixed < 0 || subset.blocks[i].size == 0) continue;
    begins.push_back(i);
    ends.emplace_back(subset.blocks[i].whole.end, i);
  }
  std::stable_sort(begins.begin(), begins.end(), [&](uint32_t a, uint32_t b) {
    return subset.blocks[a].whole.begin < subset.blocks[b].whole.begin;
  });
  std::sort(ends.begin(), ends.end());
  std::map<int64_t, int64_t> taken;  // from low to high
  size_t ended = 0;
  for (const uint32_t i : begins) {
    const Block& block = subset.blocks[i];
    for (; ends[ended].first <= block.whole.begin; ++ended) {
      taken.erase(subset.blocks[ends[ended].second].fixed);
    }
    const auto above = taken.lower_bound(block.fixed);
    if (above != taken.end() && above->first < block.fixed + block.size) return i;
    if (above != taken.begin() && std::prev(above)->second > block.fixed) return i;
    taken.emplace_hint(above, block.fixed, block.fixed + block.size);
  }
  return std::nullopt;
}

std::optional<uint32_t> SettleRectangles(BlockRegion& subset) {
  if (const auto collision = FixedCollision(subset)) return collision;
  const PackingAnswer answer = PackGreedy(Cover(subset).packing, GreedyOrder::kSize);
  for (size_t i = 0; i < subset.blocks.size(); ++i) subset.blocks[i].fixed = answer.offsets[i];
  return std::nullopt;
}

}  // namespace

Status PlanBuilder::PreAssign(const BatchPolicy& policy) {
  assert(thread_.IsSame() && "PreAssign is called by one thread only");
  PLIMSOLL_ASSIGN(blocks_, MakeBlocks(problem_, policy));
  for (BlockRegion& region : blocks_.regions) {
    if (problem_.region(region.region).kind == RegionKind::kZeroCopy) {
      PLIMSOLL_TRY(PlaceZeroCopyBlocks(blocks_, region));
    }
    PLIMSOLL_TRY(SettleFixed(region));
  }
  return {};
}

Status PlanBuilder::SettleFixed(BlockRegion& region) {
  std::vector<uint32_t> origin;
  BlockRegion subset = SettledFirst(region, origin);
  if (subset.blocks.empty()) return {};
  const std::optional<uint32_t> collision =
      region.plain ? SettleRectangles(subset) : SettleShapes(blocks_, subset);
  if (collision) {
    const Block& block = subset.blocks[*collision];
    return Refuse("contradiction", Describe(problem_, blocks_.members[block.first_member].buffer),
                  StrCat("another buffer with a fixed offset lives at the same time in its bytes [",
                         block.fixed, ", ", block.fixed + block.size, ")"));
  }
  for (size_t i = 0; i < origin.size(); ++i) {
    Block& block = region.blocks[origin[i]];
    region.has_prior |= block.fixed < 0;
    block.fixed = subset.blocks[i].fixed;
  }
  return {};
}

void PlanBuilder::SetOpMemOffset(const Placement& placement) {
  assert(thread_.IsSame() && "SetOpMemOffset is called by one thread only");
  plan_ = MemoryPlan();
  plan_.offsets.resize(problem_.buffers.size());
  plan_.regions.resize(problem_.regions.size());
  for (size_t i = 0; i < blocks_.regions.size(); ++i) {
    const BlockRegion& region = blocks_.regions[i];
    const RegionPlacement& placed = placement.regions[i];
    for (size_t j = 0; j < region.blocks.size(); ++j) {
      const Block& block = region.blocks[j];
      for (uint32_t m = 0; m < block.member_count; ++m) {
        const BufferPlace& member = blocks_.members[block.first_member + m];
        plan_.offsets[member.buffer.index()] = Offset(placed.offsets[j] + member.offset);
      }
    }
    const auto& capacity = problem_.region(region.region).capacity;
    const bool beyond = capacity && Bytes(placed.lower_bound) > *capacity;
    plan_.regions[i] = {.size = Bytes(placed.height),
                        .lower_bound = Bytes(placed.lower_bound),
                        .optimal = placed.height == placed.lower_bound,
                        .infeasible = placed.infeasible || beyond};
    plan_.deadline_hit |= placed.deadline_hit;
    plan_.steps += placed.steps;
  }
  plan_.clearing_areas = blocks_.clearing_areas;
  for (size_t i = 0; i < plan_.clearing_areas.size(); ++i) {
    ClearingArea& area = plan_.clearing_areas[i];
    area.offset =
        Offset(placement.regions[area.region.index()].offsets[blocks_.clearing_blocks[i]]);
  }
  plan_.merged_blocks = blocks_.merged_blocks;
  for (size_t i = 0; i < plan_.merged_blocks.size(); ++i) {
    MergedBlock& merged = plan_.merged_blocks[i];
    merged.offset =
        Offset(placement.regions[merged.region.index()].offsets[blocks_.merged_indices[i]]);
  }
  AddNotes();
}

void PlanBuilder::AddNotes() {
  for (size_t i = 0; i < problem_.buffers.size(); ++i) {
    const Buffer& buffer = problem_.buffers[i];
    if (!buffer.no_zero_copy_reason.empty()) {
      plan_.notes.push_back({.kind = PlanNote::Kind::kNoZeroCopy,
                             .buffer = BufferId(i),
                             .text = buffer.no_zero_copy_reason});
    }
    if (buffer.is_fixed_addr_prior) {
      plan_.notes.push_back({.kind = PlanNote::Kind::kImmutableAddress,
                             .buffer = BufferId(i),
                             .text = "its address is settled before all others and never changes"});
    }
  }
}

MemoryPlan PlanBuilder::Take(std::string assigner) {
  plan_.assigner = std::move(assigner);
  return std::move(plan_);
}

Status Validate(const Problem& problem) { return PlanBuilder(problem).PreAssign({}); }

}  // namespace plimsoll::plan
