#include "plimsoll/plan/custom_mem_assigner.h"

#include "plan/packing/region_placement.h"

namespace plimsoll::plan {

RegionItems::RegionItems(const BlockProblem& problem, const BlockRegion& region)
    : problem_(problem), region_(region) {
  for (uint32_t i = 0; i < region.blocks.size(); ++i) {
    const Block& block = region.blocks[i];
    if (block.idle()) continue;
    Item& item = items_.emplace_back();
    item.size = Bytes(block.size);
    item.alignment = block.alignment;
    if (block.fixed >= 0) item.fixed = Offset(block.fixed);
    item.begin = block.whole.begin;
    item.end = block.whole.end;
    blocks_.push_back(i);
  }
}

RegionItems::~RegionItems() = default;

bool RegionItems::Together(size_t a, size_t b) const {
  return problem_.Together(region_, region_.blocks[blocks_[a]], region_.blocks[blocks_[b]]);
}

Bytes RegionItems::lower_bound() const { return Bytes(region_.lower_bound); }

std::optional<Bytes> RegionItems::capacity() const {
  return problem_.problem->region(region_.region).capacity;
}

RegionPlacement CustomMemAssigner::PlaceRegion(const BlockProblem& blocks,
                                               const BlockRegion& region,
                                               const Budget& budget) const {
  const RegionItems items(blocks, region);
  std::vector<Offset> placed = PlaceItems(items, {.steps = budget.steps,
                                                  .deadline_ms = budget.MillisecondsLeft(),
                                                  .stop_at_capacity = budget.stop_at_capacity,
                                                  .good_enough = budget.good_enough,
                                                  .stop = budget.stop});
  placed.resize(items.items().size(), Offset(-1));  // the verifier tells what was left out
  std::vector<int64_t> offsets;
  for (size_t i = 0; i < placed.size(); ++i) {
    offsets.push_back(items.items()[i].fixed.value_or(placed[i]).value());
  }
  return Uncover(region, Cover(region), offsets);
}

}  // namespace plimsoll::plan
