#include "plimsoll/plan/hybrid_mem_assigner.h"

#include <algorithm>
#include <atomic>
#include <cassert>
#include <thread>

#include "plan/assign/greedy_mem_assigner.h"
#include "plan/packing/region_placement.h"
#include "plimsoll/base/text.h"
#include "plimsoll/plan/block_mem_assigner.h"
#include "plimsoll/plan/dynamic_batch_mem_assigner.h"

namespace plimsoll::plan {
namespace {

HybridMemAssigner::Members MembersFor(const BlockProblem& blocks) {
  HybridMemAssigner::Members members = {std::make_shared<ExactMemAssigner>(),
                                        std::make_shared<BlockMemAssigner>()};
  if (!blocks.problem->batches.empty()) {
    members.push_back(std::make_shared<DynamicBatchMemAssigner>());
  }
  return members;
}

// The best placement of one region: the lowest, the earliest member's among equals. What any member
// proved holds for all.
RegionPlacement BestOf(std::vector<Placement>& placements, size_t region) {
  size_t best = 0;
  int64_t lower_bound = 0;
  int64_t steps = 0;
  bool deadline_hit = false;
  bool infeasible = false;
  for (size_t i = 0; i < placements.size(); ++i) {
    const RegionPlacement& placed = placements[i].regions[region];
    if (placed.height < placements[best].regions[region].height) best = i;
    lower_bound = std::max(lower_bound, placed.lower_bound);
    steps += placed.steps;
    deadline_hit |= placed.deadline_hit;
    infeasible |= placed.infeasible;
  }
  RegionPlacement chosen = std::move(placements[best].regions[region]);
  chosen.lower_bound = lower_bound;
  chosen.steps = steps;
  chosen.deadline_hit = deadline_hit;
  chosen.infeasible = infeasible;
  return chosen;
}

// Whether nobody else is asked.
bool GoodEnough(const Placement& placement, const Budget& budget) {
  const PackingEffort effort{.good_enough = budget.good_enough};
  return std::all_of(placement.regions.begin(), placement.regions.end(),
                     [&](const RegionPlacement& region) {
                       return region.height <= effort.EnoughHeight(region.lower_bound);
                     });
}

}  // namespace

HybridMemAssigner::HybridMemAssigner(int threads, BatchPolicy policy)
    : threads_(threads), policy_(policy) {}

HybridMemAssigner::HybridMemAssigner(Members members, int threads, BatchPolicy policy)
    : members_(std::move(members)), threads_(threads), policy_(policy) {
  assert(!members_.empty());
}

Placement HybridMemAssigner::AssignMemoryWithReuse(const BlockProblem& blocks,
                                                   const Budget& budget) const {
  const Members members = members_.empty() ? MembersFor(blocks) : members_;
  std::vector<Placement> placements(members.size());
  std::atomic<size_t> next = 0;
  std::atomic<bool> enough = false;
  const auto work = [&] {
    for (size_t i = next++; i < members.size() && !enough; i = next++) {
      placements[i] = members[i]->AssignMemoryWithReuse(blocks, budget);
      if (i == 0) enough = GoodEnough(placements[0], budget);
    }
  };
  const size_t wanted = threads_ > 0 ? static_cast<size_t>(threads_)
                                     : std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::thread> others;
  for (size_t i = 1; i < std::min(wanted, members.size()); ++i) others.emplace_back(work);
  work();
  for (std::thread& thread : others) thread.join();

  if (enough) return std::move(placements[0]);
  Placement best;
  for (size_t i = 0; i < blocks.regions.size(); ++i) best.regions.push_back(BestOf(placements, i));
  return best;
}

}  // namespace plimsoll::plan
