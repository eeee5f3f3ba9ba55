#include "plimsoll/plan/dynamic_batch_mem_assigner.h"

#include <algorithm>
#include <set>

#include "plan/assign/block_reuse.h"
#include "plan/packing/region_search.h"

namespace plimsoll::plan {
namespace {

// Places the batches of one region one over the other. One use.
class BatchOverlay {
 public:
  BatchOverlay(const BlockProblem& problem, const BlockRegion& region,
               const DynamicBatchOptions& options, const Budget& budget)
      : problem_(problem),
        region_(region),
        options_(options),
        budget_(budget),
        offsets_(region.blocks.size(), -1) {}

  RegionPlacement Run() {
    std::vector<BatchId> batches = LargestFirst();
    // A batch with a strategy of its own must not decide where the common blocks lie.
    if (!options_.strategies.empty() || options_.others) PlaceWith(BatchId());
    for (const BatchId batch : batches) PlaceWith(batch);
    return Finish();
  }

 private:
  // Blocks of one batch and of every batch, as rectangles; what is placed already is fixed.
  BlockRegion Part(BatchId batch, std::vector<uint32_t>& origin) const {
    BlockRegion part;
    part.region = region_.region;
    part.plain = true;
    for (uint32_t i = 0; i < region_.blocks.size(); ++i) {
      const Block& block = region_.blocks[i];
      if (block.idle() || (block.whole.batch.valid() && block.whole.batch != batch)) continue;
      origin.push_back(i);
      part.blocks.push_back(block);
      part.blocks.back().piece_count = 0;
      if (offsets_[i] >= 0) part.blocks.back().fixed = offsets_[i];
    }
    return part;
  }

  std::vector<BatchId> LargestFirst() const {
    std::set<BatchId> batches;
    for (const Block& block : region_.blocks) {
      if (!block.idle() && block.whole.batch.valid()) batches.insert(block.whole.batch);
    }
    std::vector<std::pair<int64_t, BatchId>> ranked;
    for (const BatchId batch : batches) {
      std::vector<uint32_t> origin;
      ranked.emplace_back(-PackingLowerBound(Cover(Part(batch, origin)).packing), batch);
    }
    std::sort(ranked.begin(), ranked.end());
    std::vector<BatchId> order;
    for (const auto& [bound, batch] : ranked) order.push_back(batch);
    return order;
  }

  BatchStrategy StrategyOf(BatchId batch) const {
    if (!batch.valid()) return options_.others;
    const auto own = options_.strategies.find(problem_.problem->batches[batch.index()]);
    return own == options_.strategies.end() ? options_.others : own->second;
  }

  void PlaceWith(BatchId batch) {
    std::vector<uint32_t> origin;
    const BlockRegion part = Part(batch, origin);
    const BatchStrategy strategy = StrategyOf(batch);
    const RegionPlacement placed = strategy ? BlockReuse(problem_, part, *strategy).Run()
                                            : SearchPlacement(problem_, part, budget_);
    for (size_t i = 0; i < origin.size(); ++i) offsets_[origin[i]] = placed.offsets[i];
    steps_ += placed.steps;
    deadline_hit_ |= placed.deadline_hit;
  }

  RegionPlacement Finish() const {
    const CoveringPacking cover = Cover(region_);
    std::vector<int64_t> by_item;
    for (const uint32_t block : cover.blocks) by_item.push_back(offsets_[block]);
    RegionPlacement placement = Uncover(region_, cover, by_item);
    placement.steps = steps_;
    placement.deadline_hit = deadline_hit_;
    return placement;
  }

  const BlockProblem& problem_;
  const BlockRegion& region_;
  const DynamicBatchOptions& options_;
  const Budget& budget_;
  std::vector<int64_t> offsets_;
  int64_t steps_ = 0;
  bool deadline_hit_ = false;
};

}  // namespace

RegionPlacement DynamicBatchMemAssigner::PlaceRegion(const BlockProblem& blocks,
                                                     const BlockRegion& region,
                                                     const Budget& budget) const {
  const auto labelled = [](const Block& block) { return block.whole.batch.valid(); };
  const auto fixed = [](const Block& block) { return block.fixed >= 0; };
  // Fixed blocks of two batches may lie in the same bytes, which rectangles of one batch at a time
  // and of every batch together cannot distinguish.
  if (!blocks.lifetimes.one_line() ||
      std::none_of(region.blocks.begin(), region.blocks.end(), labelled) ||
      std::any_of(region.blocks.begin(), region.blocks.end(), fixed)) {
    return SearchPlacement(blocks, region, budget);
  }
  return BatchOverlay(blocks, region, options_, budget).Run();
}

}  // namespace plimsoll::plan
