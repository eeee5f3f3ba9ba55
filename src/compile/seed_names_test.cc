#include <gtest/gtest.h>

#include <concepts>
#include <type_traits>

#include "compile/memory/lifetimes.h"
#include "compile/memory/zero_copy.h"
#include "plan/assign/continuous_mem.h"
#include "plan/assign/plan_builder.h"
#include "plan/assign/zero_copy.h"
#include "plimsoll/plan/block_mem_assigner.h"
#include "plimsoll/plan/dynamic_batch_mem_assigner.h"
#include "plimsoll/plan/hybrid_mem_assigner.h"

// A reader with the seed in hand finds the parts of static memory reuse under the seed's names:
// types, functions and a constant, each with the meaning that its signature tells.
namespace plimsoll {
namespace seed_names_test {

static_assert(std::derived_from<plan::BlockMemAssigner, plan::MemAssigner>);
static_assert(std::derived_from<plan::HybridMemAssigner, plan::MemAssigner>);
static_assert(std::derived_from<plan::DynamicBatchMemAssigner, plan::MemAssigner>);
static_assert(std::same_as<decltype(plan::ContinuousMemMng::Make(
                               std::declval<const plan::Problem&>(),
                               std::declval<const std::vector<plan::BufferPlace>&>(), true)),
                           Result<plan::ContinuousMemMng>>);
static_assert(plan::kMaxSplitSizeForDynamicBatch == MiB(400).value());

TEST(SeedNamesTest, R67_FunctionsOfTheSeedAreFunctionsHere) {
  plan::Placement (plan::MemAssigner::*const assign)(const plan::BlockProblem&, const plan::Budget&)
      const = &plan::MemAssigner::AssignMemoryWithReuse;
  Status (plan::PlanBuilder::*const pre_assign)(const plan::BatchPolicy&) =
      &plan::PlanBuilder::PreAssign;
  void (plan::PlanBuilder::*const set_offset)(const plan::Placement&) =
      &plan::PlanBuilder::SetOpMemOffset;
  bool (*const real_size)(Bytes, Bytes) = &plan::IsRealSizeReuseBlock;
  bool (*const zero_copy)(const graph::Graph&, const compile::StableValues&,
                          const compile::JoinedStorage&, std::string&) =
      &compile::IsNodeAndPeerNodeTaskSupportZeroCopy;
  bool (*const no_need)(const graph::Graph&, const compile::StableValues&,
                        const compile::JoinedStorage&, const compile::LifetimeOptions&) =
      &compile::IsNoNeedAssignMemory;
  EXPECT_NE(assign, nullptr);
  EXPECT_NE(pre_assign, nullptr);
  EXPECT_NE(set_offset, nullptr);
  EXPECT_TRUE(real_size(Bytes(512), Bytes(512)));
  EXPECT_FALSE(real_size(Bytes(500), Bytes(512)));
  EXPECT_NE(zero_copy, nullptr);
  EXPECT_NE(no_need, nullptr);
}

TEST(SeedNamesTest, R67_EveryAssignerOfTheSeedIsMadeAndPlans) {
  plan::Problem problem;
  const plan::RegionId region = problem.AddRegion({.name = "feature map"});
  for (const int64_t begin : {0, 1, 2}) {
    plan::Buffer buffer;
    buffer.name = "b";
    buffer.size = Bytes(4096);
    buffer.region = region;
    buffer.life = {plan::StreamId(0), begin, begin + 2};
    problem.AddBuffer(std::move(buffer));
  }
  const plan::BlockMemAssigner block;
  const plan::HybridMemAssigner hybrid;
  const plan::DynamicBatchMemAssigner dynamic_batch;
  for (const plan::MemAssigner* assigner :
       std::initializer_list<const plan::MemAssigner*>{&block, &hybrid, &dynamic_batch}) {
    const auto plan = assigner->Assign(problem);
    ASSERT_TRUE(plan.ok()) << assigner->name();
    EXPECT_EQ(plan->regions[0].size, Bytes(2 * 4096)) << assigner->name();
  }
}

}  // namespace seed_names_test
}  // namespace plimsoll
