#include "plimsoll/plan/verifier.h"

#include <gtest/gtest.h>

#include "plan/problem/random_problem_for_tests.h"
#include "plan/verify/plan_oracle_for_tests.h"
#include "plimsoll/plan/hybrid_mem_assigner.h"

namespace plimsoll::plan {
namespace verifier_test {

// Two buffers of one region, at these offsets and with these lives.
struct Pair {
  Problem problem;
  MemoryPlan plan;
};

Pair MakePair(Use first, Use second, int64_t first_offset, int64_t second_offset) {
  Pair pair;
  pair.problem.AddRegion({.name = "map", .alignment = 1});
  pair.problem.AddBuffer({.name = "a", .size = Bytes(100), .life = first});
  pair.problem.AddBuffer({.name = "b", .size = Bytes(100), .life = second});
  pair.plan.offsets = {Offset(first_offset), Offset(second_offset)};
  pair.plan.regions = {{.size = Bytes(200)}};
  return pair;
}

std::string Code(const Pair& pair) {
  const Status status = Verify(pair.problem, pair.plan);
  return status.ok() ? "" : status.error().code;
}

TEST(VerifierTest, BuffersThatLiveTogetherMustNotShareAByte) {
  EXPECT_EQ(Code(MakePair({.begin = 0, .end = 2}, {.begin = 1, .end = 3}, 0, 100)), "");
  EXPECT_EQ(Code(MakePair({.begin = 0, .end = 2}, {.begin = 1, .end = 3}, 0, 99)),
            "verify.overlap");
  EXPECT_EQ(Code(MakePair({.begin = 0, .end = 2}, {.begin = 2, .end = 3}, 0, 0)), "");
}

TEST(VerifierTest, ABufferOutsideItsRegionIsFound) {
  EXPECT_EQ(Code(MakePair({.begin = 0, .end = 2}, {.begin = 1, .end = 3}, 0, 101)),
            "verify.bounds");
  EXPECT_EQ(Code(MakePair({.begin = 0, .end = 2}, {.begin = 2, .end = 3}, 0, -1)), "verify.bounds");
}

TEST(VerifierTest, ARegionAboveItsCapacityIsFoundAndDoesNotFit) {
  Pair pair = MakePair({.begin = 0, .end = 2}, {.begin = 1, .end = 3}, 0, 100);
  pair.problem.regions[0].capacity = Bytes(199);
  const Status status = Verify(pair.problem, pair.plan);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().kind, ErrorKind::kDoesNotFit);
  pair.problem.regions[0].capacity = Bytes(200);
  EXPECT_TRUE(Verify(pair.problem, pair.plan).ok());
}

TEST(VerifierTest, OnSeveralStreamsOnlyASynchronisationAllowsReuse) {
  Pair pair = MakePair({.stream = StreamId(0), .begin = 0, .end = 1},
                       {.stream = StreamId(1), .begin = 1, .end = 2}, 0, 0);
  pair.problem.AddStream({.name = "compute", .steps = 2});
  pair.problem.AddStream({.name = "copy", .steps = 2});
  EXPECT_EQ(Code(pair), "verify.overlap");
  pair.problem.synchronisations.push_back({StreamId(0), 0, StreamId(1), 1});
  EXPECT_EQ(Code(pair), "");
}

TEST(VerifierTest, APlanOfAnotherProblemIsRefusedAndNotRead) {
  Pair pair = MakePair({.begin = 0, .end = 2}, {.begin = 1, .end = 3}, 0, 100);
  pair.plan.offsets.pop_back();
  EXPECT_EQ(Code(pair), "verify.tables");
}

// Changes one thing of a plan.
void Mutate(RandomProblem& dice, MemoryPlan& plan) {
  const auto index = [&](size_t size) {
    return static_cast<size_t>(dice.Between(0, static_cast<int64_t>(size) - 1));
  };
  const int64_t distance = (dice.Chance(50) ? 1 : 512) * dice.Between(-4, 4);
  const int kind = static_cast<int>(dice.Between(0, 9));
  if (kind == 0 && !plan.clearing_areas.empty()) {
    auto& area = plan.clearing_areas[index(plan.clearing_areas.size())];
    area.offset = area.offset + Bytes(distance);
  } else if (kind == 1 && !plan.clearing_areas.empty()) {
    auto& area = plan.clearing_areas[index(plan.clearing_areas.size())];
    area.size = std::max(Bytes(0), area.size + Bytes(distance));
  } else if (kind == 2 && !plan.merged_blocks.empty()) {
    auto& block = plan.merged_blocks[index(plan.merged_blocks.size())];
    block.size = std::max(Bytes(0), block.size + Bytes(distance));
  } else if (kind == 3) {
    auto& region = plan.regions[index(plan.regions.size())];
    region.size = std::max(Bytes(0), region.size + Bytes(distance));
  } else if (kind == 4) {
    std::swap(plan.offsets[index(plan.offsets.size())], plan.offsets[index(plan.offsets.size())]);
  } else if (kind == 5) {
    plan.offsets[index(plan.offsets.size())] = plan.offsets[index(plan.offsets.size())];
  } else {
    Offset& offset = plan.offsets[index(plan.offsets.size())];
    offset = offset + Bytes(distance);
  }
}

TEST(VerifierTest, BrokenInManyWaysAPlanIsRefusedExactlyWhenItMatters) {
  int mattered = 0;
  int harmless = 0;
  for (uint64_t seed = 0; mattered < 10'000; ++seed) {
    RandomProblem dice(seed + 77);
    const Problem problem = dice.Make();
    auto plan = HybridMemAssigner(1).Assign(problem, {.steps = 100});
    if (!plan.ok()) continue;
    for (int i = 0; i < 4; ++i) {
      MemoryPlan broken = *plan;
      Mutate(dice, broken);
      const bool holds = PlanOracle(problem, broken).Holds();
      ASSERT_EQ(Verify(problem, broken).ok(), holds) << "seed " << seed << " mutation " << i;
      ++(holds ? harmless : mattered);
    }
  }
  EXPECT_GT(harmless, 1000);
}

}  // namespace verifier_test
}  // namespace plimsoll::plan
