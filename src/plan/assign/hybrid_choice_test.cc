#include <gtest/gtest.h>

#include "plan/assign/plan_builder.h"
#include "plan/assign/plan_for_tests.h"
#include "plimsoll/plan/block_mem_assigner.h"

namespace plimsoll::plan {
namespace hybrid_choice_test {

// Answers what it was told, whatever the problem.
class Scripted : public MemAssigner {
 public:
  explicit Scripted(std::vector<RegionPlacement> regions) : regions_(std::move(regions)) {}
  std::string name() const override { return "scripted"; }
  Placement AssignMemoryWithReuse(const BlockProblem&, const Budget&) const override {
    return {regions_};
  }

 private:
  std::vector<RegionPlacement> regions_;
};

RegionPlacement Answer(std::string who, int64_t height, int64_t lower_bound, int64_t steps) {
  RegionPlacement placement;
  placement.height = height;
  placement.lower_bound = lower_bound;
  placement.steps = steps;
  placement.assigner = std::move(who);
  return placement;
}

// A problem of two regions.
class HybridChoiceTest : public PlanTest {
 protected:
  HybridChoiceTest() {
    for (const char* name : {"map", "other"}) problem_.AddRegion({.name = name, .alignment = 1});
  }
  Placement Choose(std::vector<std::vector<RegionPlacement>> answers, double good_enough = 0) {
    HybridMemAssigner::Members members;
    for (auto& answer : answers) members.push_back(std::make_shared<Scripted>(std::move(answer)));
    PlanBuilder builder(problem_);
    EXPECT_TRUE(builder.PreAssign({}).ok());
    return HybridMemAssigner(std::move(members), 1)
        .AssignMemoryWithReuse(builder.blocks(), {.steps = 0, .good_enough = good_enough});
  }
};

TEST_F(HybridChoiceTest, EachRegionIsThatOfWhoeverIsLowestThere) {
  const Placement chosen = Choose({{Answer("first", 30, 10, 1), Answer("first", 50, 10, 1)},
                                   {Answer("second", 20, 10, 1), Answer("second", 60, 10, 1)},
                                   {Answer("third", 20, 10, 1), Answer("third", 40, 10, 1)}});
  ASSERT_EQ(chosen.regions.size(), 2u);
  EXPECT_EQ(chosen.regions[0].assigner, "second") << "the earlier of equals";
  EXPECT_EQ(chosen.regions[0].height, 20);
  EXPECT_EQ(chosen.regions[1].assigner, "third");
}

TEST_F(HybridChoiceTest, TheBestBoundThatAnyMemberProvedHoldsWhoeverIsChosen) {
  const Placement chosen = Choose({{Answer("first", 30, 11, 1), Answer("first", 30, 10, 1)},
                                   {Answer("second", 20, 15, 1), Answer("second", 20, 12, 1)},
                                   {Answer("third", 25, 12, 1), Answer("third", 25, 14, 1)}});
  EXPECT_EQ(chosen.regions[0].lower_bound, 15);
  EXPECT_EQ(chosen.regions[1].lower_bound, 14);
  EXPECT_EQ(chosen.regions[0].assigner, "second");
}

TEST_F(HybridChoiceTest, StepsAddUpAndADeadlineOrAProofOfOneMemberCountsForAll) {
  std::vector<RegionPlacement> cut = {Answer("cut", 40, 10, 5), Answer("cut", 40, 10, 50)};
  cut[0].deadline_hit = true;
  cut[1].infeasible = true;
  const Placement chosen = Choose({{Answer("first", 30, 10, 2), Answer("first", 30, 10, 20)},
                                   cut,
                                   {Answer("third", 20, 10, 3), Answer("third", 20, 10, 30)}});
  EXPECT_EQ(chosen.regions[0].steps, 10);
  EXPECT_EQ(chosen.regions[1].steps, 100);
  EXPECT_TRUE(chosen.regions[0].deadline_hit);
  EXPECT_FALSE(chosen.regions[0].infeasible);
  EXPECT_FALSE(chosen.regions[1].deadline_hit);
  EXPECT_TRUE(chosen.regions[1].infeasible);
}

TEST_F(HybridChoiceTest, TheFirstIsEnoughOnlyWhereAllItsRegionsAre) {
  const std::vector<RegionPlacement> first = {Answer("first", 10, 10, 1),
                                              Answer("first", 111, 100, 1)};
  const std::vector<RegionPlacement> second = {Answer("second", 10, 10, 1),
                                               Answer("second", 105, 100, 1)};
  EXPECT_EQ(Choose({first, second}).regions[1].assigner, "second");
  EXPECT_EQ(Choose({first, second}, 0.1).regions[1].assigner, "second") << "one byte too high";
  EXPECT_EQ(Choose({first, second}, 0.11).regions[1].assigner, "first");
  EXPECT_EQ(Choose({first, second}, 0.11).regions[1].steps, 1) << "nobody else was asked";
}

TEST_F(HybridChoiceTest, APlanTellsTheSumOfItsRegionsAndWhoMadeIt) {
  const RegionId map(0);
  const RegionId other(1);
  for (const RegionId region : {map, map, other}) {
    problem_.AddBuffer({.size = Bytes(100), .region = region, .life = {.begin = 0, .end = 1}});
  }
  const MemoryPlan plan = Plan();
  EXPECT_EQ(plan.assigner, "hybrid");
  EXPECT_EQ(plan.total(), Bytes(300));
  EXPECT_EQ(plan.lower_bound(), Bytes(300));
  EXPECT_TRUE(plan.optimal());
  const MemoryPlan block = PlanBy(BlockMemAssigner({.memory_priority_mode = false}));
  EXPECT_EQ(block.assigner, "block");
}

TEST_F(HybridChoiceTest, ARegionWithNothingToChooseIsNobodysWork) {
  const RegionId map(0);
  const RegionId other(1);
  problem_.AddBuffer({.size = Bytes(100),
                      .region = map,
                      .life = {.begin = 0, .end = 1},
                      .fixed_offset = Offset(50)});
  problem_.AddBuffer({.size = Bytes(10), .region = map, .life = {.begin = 3, .end = 3}});
  problem_.AddBuffer({.size = Bytes(100), .region = other, .life = {.begin = 0, .end = 1}});
  PlanBuilder builder(problem_);
  ASSERT_TRUE(builder.PreAssign({}).ok());
  const Placement placed =
      BlockMemAssigner().AssignMemoryWithReuse(builder.blocks(), {.steps = 10});
  ASSERT_EQ(placed.regions.size(), 2u);
  EXPECT_EQ(placed.regions[0].assigner, "");
  EXPECT_EQ(placed.regions[0].height, 150);
  EXPECT_EQ(placed.regions[0].steps, 0);
  EXPECT_EQ(placed.regions[1].assigner, "block");
}

TEST_F(HybridChoiceTest, OneRegionAboveItsBoundMakesThePlanNotOptimal) {
  MemoryPlan plan;
  plan.regions = {{.size = Bytes(10), .lower_bound = Bytes(10), .optimal = true},
                  {.size = Bytes(12), .lower_bound = Bytes(11), .optimal = false}};
  EXPECT_FALSE(plan.optimal());
  EXPECT_EQ(plan.total(), Bytes(22));
  EXPECT_EQ(plan.lower_bound(), Bytes(21));
  plan.merged_blocks = {{.size = Bytes(3)}, {.size = Bytes(4)}};
  plan.notes = {{.kind = PlanNote::Kind::kMergedBatchesCost, .bytes = Bytes(5)},
                {.kind = PlanNote::Kind::kNoZeroCopy, .bytes = Bytes(100)},
                {.kind = PlanNote::Kind::kMergedBatchesCost, .bytes = Bytes(6)}};
  EXPECT_EQ(plan.merged_size(), Bytes(7));
  EXPECT_EQ(plan.merged_cost(), Bytes(11));
}

}  // namespace hybrid_choice_test
}  // namespace plimsoll::plan
