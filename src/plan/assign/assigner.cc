#include "plimsoll/plan/assigner.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>

#include "plan/assign/greedy_mem_assigner.h"
#include "plan/assign/plan_builder.h"
#include "plimsoll/base/text.h"
#include "plimsoll/plan/block_mem_assigner.h"
#include "plimsoll/plan/dynamic_batch_mem_assigner.h"
#include "plimsoll/plan/hybrid_mem_assigner.h"

namespace plimsoll::plan {
namespace {

Budget MakeBudget(const Effort& effort) {
  Budget budget{.steps = effort.steps,
                .stop_at_capacity = effort.stop_at_capacity,
                .stop = effort.stop,
                .good_enough = effort.good_enough};
  if (effort.deadline_ms > 0) {
    budget.deadline = std::chrono::steady_clock::now() +
                      std::chrono::microseconds(static_cast<int64_t>(effort.deadline_ms * 1000));
  }
  return budget;
}

bool Settled(const BlockRegion& region) {
  return std::all_of(region.blocks.begin(), region.blocks.end(),
                     [](const Block& block) { return block.idle() || block.fixed >= 0; });
}

RegionPlacement KeepSettled(const BlockRegion& region) {
  const CoveringPacking cover = Cover(region);
  std::vector<int64_t> offsets;
  for (const PackingItem& item : cover.packing.items) offsets.push_back(item.fixed);
  return Uncover(region, cover, offsets);
}

// An assigner that obeys a policy other than its own.
class UnderPolicy : public MemAssigner {
 public:
  UnderPolicy(std::unique_ptr<MemAssigner> assigner, const BatchPolicy& policy)
      : assigner_(std::move(assigner)), policy_(policy) {}
  std::string name() const override { return assigner_->name(); }
  BatchPolicy batch_policy() const override { return policy_; }
  Placement AssignMemoryWithReuse(const BlockProblem& blocks, const Budget& budget) const override {
    return assigner_->AssignMemoryWithReuse(blocks, budget);
  }

 private:
  std::unique_ptr<MemAssigner> assigner_;
  BatchPolicy policy_;
};

struct AssignerTable {
  std::mutex mutex;
  std::map<std::string, AssignerFactory, std::less<>> factories;
};

AssignerTable& RegisteredAssigners() {
  static AssignerTable table;
  return table;
}

AssignerFactory FindRegisteredAssigner(std::string_view name) {
  AssignerTable& table = RegisteredAssigners();
  const std::lock_guard lock(table.mutex);
  const auto found = table.factories.find(name);
  return found == table.factories.end() ? nullptr : found->second;
}

std::vector<std::string> BuiltInAssigners() {
  std::vector<std::string> names = {"hybrid", "exact", "block", "dynamic_batch"};
  for (const GreedyOrder order : kGreedyOrders) names.push_back(GreedyMemAssigner(order).name());
  return names;
}

}  // namespace

Result<MemoryPlan> MemAssigner::Assign(const Problem& problem, const Effort& effort) const {
  const Budget budget = MakeBudget(effort);
  PLIMSOLL_ASSIGN(MemoryPlan plan, AssignUnder(batch_policy(), problem, budget));
  if (plan.merged_blocks.empty()) return plan;
  BatchPolicy unmerged_policy = batch_policy();
  unmerged_policy.merge_continuous = false;
  PLIMSOLL_ASSIGN(const MemoryPlan unmerged, AssignUnder(unmerged_policy, problem, budget));
  plan.deadline_hit |= unmerged.deadline_hit;
  plan.notes.push_back({.kind = PlanNote::Kind::kMergedBatchesCost,
                        .text = "what merging the contiguous groups of different batches costs",
                        .bytes = std::max(plan.total() - unmerged.total(), Bytes(0))});
  return plan;
}

Result<MemoryPlan> MemAssigner::AssignUnder(const BatchPolicy& policy, const Problem& problem,
                                            const Budget& budget) const {
  PlanBuilder builder(problem);
  PLIMSOLL_TRY(builder.PreAssign(policy));
  const Placement placement = AssignMemoryWithReuse(builder.blocks(), budget);
  builder.SetOpMemOffset(placement);
  return builder.Take(name());
}

Placement RegionMemAssigner::AssignMemoryWithReuse(const BlockProblem& blocks,
                                                   const Budget& budget) const {
  Placement placement;
  for (const BlockRegion& region : blocks.regions) {
    if (Settled(region)) {
      placement.regions.push_back(KeepSettled(region));
      continue;
    }
    placement.regions.push_back(PlaceRegion(blocks, region, budget));
    placement.regions.back().assigner = name();
  }
  return placement;
}

bool IsBuiltInAssigner(std::string_view name) {
  const std::vector<std::string> names = BuiltInAssigners();
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::vector<std::string> AssignerNames() {
  std::vector<std::string> names = BuiltInAssigners();
  AssignerTable& table = RegisteredAssigners();
  const std::lock_guard lock(table.mutex);
  for (const auto& [name, factory] : table.factories) names.push_back(name);
  return names;
}

Status RegisterAssigner(std::string name, AssignerFactory factory) {
  const std::vector<std::string> known = AssignerNames();
  const bool taken = std::find(known.begin(), known.end(), name) != known.end();
  AssignerTable& table = RegisteredAssigners();
  const std::lock_guard lock(table.mutex);
  if (name.empty() || factory == nullptr || taken || table.factories.contains(name)) {
    return Error{.kind = ErrorKind::kUsage,
                 .code = "plan.assigner_name",
                 .what = "cannot register the assigner",
                 .where = StrCat("'", name, "'"),
                 .why = name.empty() || factory == nullptr ? "an assigner has a name and a factory"
                                                           : "the name is taken",
                 .remedy = "give it another name"};
  }
  table.factories.emplace(std::move(name), std::move(factory));
  return {};
}

Result<std::unique_ptr<MemAssigner>> MakeAssigner(std::string_view name, int threads) {
  return MakeAssigner(name, AssignerOptions{.threads = threads});
}

Result<std::unique_ptr<MemAssigner>> MakeAssigner(std::string_view name,
                                                  const AssignerOptions& options) {
  std::unique_ptr<MemAssigner> made;
  if (name == "hybrid") made = std::make_unique<HybridMemAssigner>(options.threads);
  if (name == "exact") made = std::make_unique<ExactMemAssigner>();
  if (name == "block") made = std::make_unique<BlockMemAssigner>(options.block_reuse);
  if (name == "dynamic_batch") {
    made = std::make_unique<DynamicBatchMemAssigner>(DynamicBatchOptions{
        .strategies = options.batch_strategies, .others = options.other_batches});
  }
  for (const GreedyOrder order : kGreedyOrders) {
    if (name == GreedyMemAssigner(order).name()) made = std::make_unique<GreedyMemAssigner>(order);
  }
  if (const AssignerFactory factory = FindRegisteredAssigner(name)) made = factory(options);
  if (made != nullptr) {
    return std::unique_ptr<MemAssigner>(
        std::make_unique<UnderPolicy>(std::move(made), options.batches));
  }
  const std::vector<std::string> names = AssignerNames();
  const auto nearest = NearestName(name, names);
  return Error{.kind = ErrorKind::kUsage,
               .code = "plan.unknown_assigner",
               .what = "there is no such assigner",
               .where = std::string(name),
               .why = StrCat("known are ", Join(names, ", ")),
               .remedy = nearest ? StrCat("did you mean ", *nearest, "?") : ""};
}

}  // namespace plimsoll::plan
