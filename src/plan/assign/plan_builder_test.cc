#include "plan/assign/plan_builder.h"

#include <gtest/gtest.h>

#include "plan/assign/plan_for_tests.h"

namespace plimsoll::plan {
namespace plan_builder_test {

class PlanBuilderTest : public PlanTest {
 protected:
  PlanBuilderTest() { map_ = problem_.AddRegion({.name = "map", .alignment = 1}); }
  BufferId Add(int64_t size, int64_t begin, int64_t end) {
    return problem_.AddBuffer(
        {.size = Bytes(size), .region = map_, .life = {.begin = begin, .end = end}});
  }
  Buffer& Row(BufferId id) { return problem_.buffers[id.index()]; }

  RegionId map_;
};

TEST_F(PlanBuilderTest, ImmutableAddressesAreChosenLargestFirstAndBelowAllOthers) {
  const BufferId ordinary = Add(500, 0, 9);
  const BufferId small = Add(100, 0, 9);
  const BufferId large = Add(300, 0, 9);
  for (const BufferId id : {small, large}) Row(id).is_fixed_addr_prior = true;
  const MemoryPlan plan = Plan();
  EXPECT_EQ(At(plan, large), 0);
  EXPECT_EQ(At(plan, small), 300);
  EXPECT_EQ(At(plan, ordinary), 400);
}

TEST_F(PlanBuilderTest, ImmutableAddressesKeepClearOfFixedOffsetsAndShareOverTime) {
  const BufferId fixed = Add(50, 0, 9);
  Row(fixed).fixed_offset = Offset(10);
  const BufferId early = Add(20, 0, 3);
  const BufferId late = Add(20, 3, 9);
  for (const BufferId id : {early, late}) Row(id).is_fixed_addr_prior = true;
  const MemoryPlan plan = Plan();
  EXPECT_EQ(At(plan, early), 60) << "nine bytes below the fixed one are too few";
  EXPECT_EQ(At(plan, late), 60);
}

// The same in a region whose blocks are no rectangles.
TEST_F(PlanBuilderTest, FixedAndImmutableAddressesHoldTogetherWithWindows) {
  const BufferId whole = Add(100, 0, 2);
  const BufferId window = Add(40, 2, 6);
  problem_.aliases = {{window, whole, Bytes(60)}};
  Row(whole).fixed_offset = Offset(0);
  const BufferId prior = Add(60, 3, 5);
  Row(prior).is_fixed_addr_prior = true;
  MemoryPlan plan = Plan();
  EXPECT_EQ(At(plan, window), 60);
  EXPECT_EQ(At(plan, prior), 0) << "the dead part of the fixed one is free";
  Row(prior).fixed_offset = Offset(1);
  const Status refused = Validate(problem_);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, "plan.contradiction");
  EXPECT_NE(refused.error().why.find("[1, 61)"), std::string::npos) << refused.error().why;
}

TEST_F(PlanBuilderTest, ABufferThatNeverLivesKeepsItsFixedOffsetAndCountsInTheSize) {
  Add(10, 0, 1);
  const BufferId never = Add(20, 4, 4);
  Row(never).fixed_offset = Offset(30);
  const MemoryPlan plan = Plan();
  EXPECT_EQ(At(plan, never), 30);
  EXPECT_EQ(plan.total(), Bytes(50));
  const BufferId also = Add(20, 5, 5);
  EXPECT_EQ(At(Plan(), also), 0) << "without one it lies anywhere";
}

TEST_F(PlanBuilderTest, NotesNameTheirBuffersInOrder) {
  const BufferId a = Add(10, 0, 1);
  const BufferId b = Add(10, 0, 1);
  Add(10, 0, 1);
  Row(a).is_fixed_addr_prior = true;
  Row(b).no_zero_copy_reason = "HCOM";
  Row(b).is_fixed_addr_prior = true;
  const MemoryPlan plan = Plan();
  ASSERT_EQ(plan.notes.size(), 3u);
  EXPECT_EQ(plan.notes[0].kind, PlanNote::Kind::kImmutableAddress);
  EXPECT_EQ(plan.notes[0].buffer, a);
  EXPECT_EQ(plan.notes[1].kind, PlanNote::Kind::kNoZeroCopy);
  EXPECT_EQ(plan.notes[1].text, "HCOM");
  EXPECT_EQ(plan.notes[2].kind, PlanNote::Kind::kImmutableAddress);
  EXPECT_EQ(plan.notes[2].buffer, b);
}

TEST_F(PlanBuilderTest, ACapacityBelowTheBoundIsInfeasibleWhoeverPlans) {
  Add(10, 0, 1);
  Add(10, 0, 1);
  for (const std::string& name : AssignerNames()) {
    problem_.regions[0].capacity = Bytes(19);
    const auto assigner = MakeAssigner(name, 1);
    ASSERT_TRUE(assigner.ok());
    const auto plan = (*assigner)->Assign(problem_);
    ASSERT_TRUE(plan.ok());
    EXPECT_TRUE(plan->regions[0].infeasible) << name;
    EXPECT_EQ(plan->regions[0].size, Bytes(20)) << name << ": the plan is there all the same";
    problem_.regions[0].capacity = Bytes(20);
    EXPECT_FALSE(PlanBy(**assigner).regions[0].infeasible) << name;
  }
}

TEST_F(PlanBuilderTest, AreasAndMergedBlocksLieWhereTheirBlocksWerePut) {
  const RegionId second = problem_.AddRegion({.name = "second", .alignment = 1});
  Add(100, 0, 9);
  const BufferId cleared = Add(10, 0, 1);
  Row(cleared).atomic_addr_clean_id = 1;
  Row(Add(50, 0, 9)).region = second;
  const BufferId elsewhere = Add(20, 0, 1);
  Row(elsewhere).region = second;
  Row(elsewhere).atomic_addr_clean_id = 0;
  std::vector<BufferId> groups;
  for (const char* label : {"one", "two"}) {
    const BatchId batch = problem_.AddBatch(label);
    for (int i = 0; i < 2; ++i) {
      groups.push_back(Add(40, 0, 1));
      Row(groups.back()).batch = batch;
    }
    problem_.contiguous.push_back({.members = {groups[groups.size() - 2], groups.back()}});
  }
  const MemoryPlan plan = Plan();
  ASSERT_EQ(plan.clearing_areas.size(), 2u);
  EXPECT_EQ(plan.clearing_areas[0].region, map_);
  EXPECT_EQ(plan.clearing_areas[0].atomic_addr_clean_id, 1);
  EXPECT_EQ(plan.clearing_areas[0].offset.value(), At(plan, cleared));
  EXPECT_EQ(plan.clearing_areas[0].size, Bytes(10));
  EXPECT_EQ(plan.clearing_areas[1].region, second);
  EXPECT_EQ(plan.clearing_areas[1].offset.value(), At(plan, elsewhere));
  EXPECT_EQ(At(plan, elsewhere), 50);
  ASSERT_EQ(plan.merged_blocks.size(), 1u);
  EXPECT_EQ(plan.merged_blocks[0].offset.value(), At(plan, groups[0]));
  EXPECT_EQ(plan.merged_blocks[0].size, Bytes(80));
  EXPECT_EQ(plan.merged_blocks[0].groups, (std::vector<uint32_t>{0, 1}));
  EXPECT_EQ(plan.total(), Bytes(100 + 10 + 80 + 50 + 20));
}

// Exclusive members keep all of their group from everybody.
TEST_F(PlanBuilderTest, AGroupWithAnExclusiveMemberIsGivenToNobodyElse) {
  const BufferId a = Add(10, 0, 1);
  const BufferId b = Add(10, 0, 1);
  Row(b).exclusive = true;
  problem_.contiguous = {{.members = {a, b}}};
  Add(10, 5, 6);
  EXPECT_EQ(Plan().total(), Bytes(30));
}

TEST_F(PlanBuilderTest, APaddedGroupTakesNoMoreThanItsPlaceInsideOthers) {
  problem_.regions[0].alignment = 32;
  const BufferId a = Add(33, 0, 9);
  const BufferId b = Add(1, 5, 9);
  problem_.contiguous = {{.members = {a, b}, .padded = true}};
  const BufferId early = Add(32, 0, 5);
  const MemoryPlan plan = Plan();
  EXPECT_EQ(At(plan, early), At(plan, b)) << "the second member is not yet born";
  EXPECT_EQ(plan.total(), Bytes(96));
}

}  // namespace plan_builder_test
}  // namespace plimsoll::plan
