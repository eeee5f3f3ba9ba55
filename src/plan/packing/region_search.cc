#include "plan/packing/region_search.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "plan/assign/block_space.h"
#include "plan/packing/best_packing.h"

namespace plimsoll::plan {
namespace {

// Comparisons of blocks that cost about as much as one step of the packing core's search.
constexpr int64_t kComparisonsPerStep = 16;

// Placements of one region by order alone: the order says who chooses first.
class OrderedPlacement {
 public:
  OrderedPlacement(const BlockProblem& problem, const BlockRegion& region)
      : region_(region), cover_(Cover(region)), space_(problem, region) {}

  const CoveringPacking& cover() const { return cover_; }
  int64_t comparisons() const { return space_.comparisons(); }

  // The items that are free to choose, in that order.
  std::vector<int32_t> Sequence(GreedyOrder order) const {
    std::vector<int32_t> sequence = GreedySequence(cover_.packing, order);
    std::erase_if(sequence, [&](int32_t item) {
      return cover_.packing.items[static_cast<size_t>(item)].fixed >= 0;
    });
    return sequence;
  }

  // Offsets by item; empty as soon as the height would exceed `most`.
  std::vector<int64_t> Place(const std::vector<int32_t>& sequence, int64_t most) {
    const std::vector<PackingItem>& items = cover_.packing.items;
    std::vector<int64_t> offsets(items.size());
    space_.Clear();
    for (size_t i = 0; i < items.size(); ++i) {
      if (items[i].fixed < 0) continue;
      offsets[i] = items[i].fixed;
      space_.Place(cover_.blocks[i], items[i].fixed);
    }
    for (const int32_t item : sequence) {
      const size_t i = static_cast<size_t>(item);
      offsets[i] = space_.LowestGap(cover_.blocks[i]);
      if (offsets[i] + items[i].size > most) return {};
      space_.Place(cover_.blocks[i], offsets[i]);
    }
    return offsets;
  }

  RegionPlacement Finish(const std::vector<int64_t>& offsets) const {
    return Uncover(region_, cover_, offsets);
  }

 private:
  const BlockRegion& region_;
  CoveringPacking cover_;
  BlockSpace space_;
};

constexpr int64_t kAnyHeight = std::numeric_limits<int64_t>::max();

// A small generator of the same numbers everywhere.
class Dice {
 public:
  size_t Below(size_t bound) {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return static_cast<size_t>(state_ % bound);
  }

 private:
  uint64_t state_ = 0x9e3779b97f4a7c15;
};

// Lets the item that stands highest choose earlier, again and again, and keeps what is no worse.
void Improve(OrderedPlacement& placing, std::vector<int32_t> sequence, int64_t goal,
             const Budget& budget, RegionPlacement& best) {
  const std::vector<PackingItem>& items = placing.cover().packing.items;
  std::vector<int64_t> offsets = placing.Place(sequence, kAnyHeight);
  int64_t height = placing.Finish(offsets).height;
  const int64_t most_comparisons =
      placing.comparisons() + SaturatingMultiply(budget.steps, kComparisonsPerStep);
  Dice dice;
  constexpr int kPatience = 400;
  for (int failures = 0; failures < kPatience && height > goal && sequence.size() > 1;) {
    if (placing.comparisons() > most_comparisons) return;
    if (budget.Expired()) {
      best.deadline_hit = true;
      return;
    }
    size_t highest = 0;
    for (size_t i = 1; i < sequence.size(); ++i) {
      const size_t item = static_cast<size_t>(sequence[i]);
      const size_t top = static_cast<size_t>(sequence[highest]);
      if (offsets[item] + items[item].size > offsets[top] + items[top].size) highest = i;
    }
    // The highest item already chooses first: any exchange may open another way.
    const size_t from = highest > 0 ? highest : 1 + dice.Below(sequence.size() - 1);
    const size_t to = dice.Below(from);
    std::vector<int32_t> changed = sequence;
    std::rotate(changed.begin() + static_cast<ptrdiff_t>(to),
                changed.begin() + static_cast<ptrdiff_t>(from),
                changed.begin() + static_cast<ptrdiff_t>(from) + 1);
    std::vector<int64_t> placed = placing.Place(changed, height);
    ++best.steps;
    ++failures;
    if (placed.empty()) continue;
    const int64_t reached = placing.Finish(placed).height;
    if (reached < height) failures = 0;
    height = reached;
    sequence = std::move(changed);
    offsets = std::move(placed);
    if (height < best.height) {
      RegionPlacement better = placing.Finish(offsets);
      better.steps = best.steps;
      better.deadline_hit = best.deadline_hit;
      best = std::move(better);
    }
  }
}

RegionPlacement SearchPlain(const BlockProblem& problem, const BlockRegion& region,
                            const Budget& budget) {
  const CoveringPacking cover = Cover(region);
  const PackingAnswer answer = PackBest(cover.packing, EffortFor(problem, region, budget));
  RegionPlacement placement = Uncover(region, cover, answer.offsets);
  placement.deadline_hit = answer.deadline_hit;
  placement.steps = answer.steps;
  // With offsets that we chose ourselves the core's proofs are not proofs about the problem, nor
  // with covering rectangles in place of the blocks.
  if (region.plain && !region.has_prior) {
    placement.lower_bound = std::max(placement.lower_bound, answer.lower_bound);
    placement.infeasible = answer.infeasible;
  }
  return placement;
}

}  // namespace

RegionPlacement PlaceGreedily(const BlockProblem& problem, const BlockRegion& region,
                              GreedyOrder order) {
  if (region.plain) {
    const CoveringPacking cover = Cover(region);
    return Uncover(region, cover, PackGreedy(cover.packing, order).offsets);
  }
  OrderedPlacement placing(problem, region);
  return placing.Finish(placing.Place(placing.Sequence(order), kAnyHeight));
}

RegionPlacement SearchPlacement(const BlockProblem& problem, const BlockRegion& region,
                                const Budget& budget) {
  if (region.plain) return SearchPlain(problem, region, budget);
  const int64_t capacity = EffortFor(problem, region, budget).capacity;
  const int64_t goal = std::max(region.lower_bound, capacity);

  OrderedPlacement placing(problem, region);
  RegionPlacement best;
  best.height = kAnyHeight;
  std::vector<int32_t> best_sequence;
  for (const GreedyOrder order : kGreedyOrders) {
    std::vector<int32_t> sequence = placing.Sequence(order);
    RegionPlacement placed = placing.Finish(placing.Place(sequence, kAnyHeight));
    if (placed.height >= best.height) continue;
    best = std::move(placed);
    best_sequence = std::move(sequence);
    if (best.height <= goal) return best;
  }
  // Fixed blocks of other shapes may interlock in ways that covering rectangles cannot.
  const bool any_fixed = std::any_of(region.blocks.begin(), region.blocks.end(),
                                     [](const Block& block) { return block.fixed >= 0; });
  if (problem.lifetimes.one_line() && !any_fixed) {
    RegionPlacement covered = SearchPlain(problem, region, budget);
    const bool cut = covered.deadline_hit;
    if (covered.height < best.height) best = std::move(covered);
    best.deadline_hit = cut;
  }
  if (best.height > goal) Improve(placing, std::move(best_sequence), goal, budget, best);
  return best;
}

}  // namespace plimsoll::plan
