#include <gtest/gtest.h>

#include "plan/assign/plan_for_tests.h"

namespace plimsoll::plan {
namespace lower_bound_test {

// What a plan proves: no placement is lower. Too low a bound says less than is known; too high a
// one would be a lie.
class LowerBoundTest : public PlanTest {
 protected:
  LowerBoundTest() { map_ = problem_.AddRegion({.name = "map", .alignment = 1}); }
  BufferId Add(int64_t size, int64_t begin, int64_t end) {
    return problem_.AddBuffer(
        {.size = Bytes(size), .region = map_, .life = {.begin = begin, .end = end}});
  }
  Buffer& Row(BufferId id) { return problem_.buffers[id.index()]; }
  // By an assigner that proves nothing itself.
  int64_t Bound() const {
    const auto greedy = MakeAssigner("greedy_by_size");
    return greedy.ok() ? PlanBy(**greedy).regions[map_.index()].lower_bound.value() : -1;
  }

  RegionId map_;
};

TEST_F(LowerBoundTest, IsTheLargestSumOfOneMoment) {
  Add(10, 0, 3);
  Add(20, 2, 5);
  Add(40, 3, 4);
  EXPECT_EQ(Bound(), 60) << "the first is gone when the third comes";
  Add(5, 7, 7);
  EXPECT_EQ(Bound(), 60) << "what never lives counts for nothing";
}

TEST_F(LowerBoundTest, SizesCountInWholeGranules) {
  problem_.regions[0].alignment = 32;
  Add(33, 0, 1);
  Add(1, 0, 1);
  EXPECT_EQ(Bound(), 96);
}

TEST_F(LowerBoundTest, ReachesTheTopOfAFixedBuffer) {
  Add(10, 0, 3);
  Row(Add(7, 8, 9)).fixed_offset = Offset(100);
  EXPECT_EQ(Bound(), 107);
}

TEST_F(LowerBoundTest, OfBatchesTheLargestCountsOnTopOfWhatAllShare) {
  const BatchId small = problem_.AddBatch("small");
  const BatchId large = problem_.AddBatch("large");
  Row(Add(10, 0, 2)).batch = small;
  Row(Add(30, 0, 1)).batch = large;
  Row(Add(25, 1, 2)).batch = large;
  Add(5, 0, 2);
  EXPECT_EQ(Bound(), 35);
}

TEST_F(LowerBoundTest, ExclusiveBuffersAddToEveryMoment) {
  Row(Add(10, 0, 1)).exclusive = true;
  Row(Add(7, 5, 6)).exclusive = true;
  Add(20, 2, 3);
  EXPECT_EQ(Bound(), 37);
}

TEST_F(LowerBoundTest, AWindowsBytesAreItsOwners) {
  const BufferId whole = Add(40, 0, 2);
  const BufferId window = Add(10, 1, 5);
  problem_.aliases = {{window, whole, Bytes(20)}};
  EXPECT_EQ(Bound(), 40);
  Add(25, 3, 4);
  EXPECT_EQ(Bound(), 40) << "only the window lives by then";
  Row(window).size = Bytes(20);
  EXPECT_EQ(Bound(), 45);
}

TEST_F(LowerBoundTest, BytesThatSeveralWindowsKeepCountOnce) {
  const BufferId whole = Add(40, 0, 1);
  const BufferId first = Add(40, 3, 6);
  const BufferId second = Add(40, 4, 8);
  const BufferId third = Add(40, 5, 6);
  for (const BufferId window : {first, second, third}) {
    problem_.aliases.push_back({window, whole, Bytes(0)});
  }
  EXPECT_EQ(Bound(), 40);
  Add(10, 7, 8);
  EXPECT_EQ(Bound(), 50) << "the second window still lives";
  const MemoryPlan plan = Plan();
  EXPECT_EQ(plan.total(), Bytes(50));
  EXPECT_TRUE(plan.optimal());
}

TEST_F(LowerBoundTest, OnStreamsItIsTheLargestSumAlongOneOfThem) {
  problem_.AddStream({.steps = 4});
  problem_.AddStream({.steps = 4});
  Add(10, 0, 2);
  Add(20, 1, 3);
  const BufferId other = Add(25, 0, 1);
  Row(other).life.stream = StreamId(1);
  EXPECT_EQ(Bound(), 30) << "the streams may run one after the other";
  Row(Add(26, 0, 1)).life.stream = StreamId(1);
  EXPECT_EQ(Bound(), 51) << "the second stream needs more";
  Row(other).elsewhere = {{StreamId(0), 1, 3}};
  EXPECT_EQ(Bound(), 55) << "on the first stream three live at step 1";
}

TEST_F(LowerBoundTest, OnStreamsAWindowCountsOnce) {
  problem_.AddStream({.steps = 4});
  problem_.AddStream({.steps = 4});
  const BufferId whole = Add(40, 0, 2);
  const BufferId window = Add(40, 1, 4);
  problem_.aliases = {{window, whole, Bytes(0)}};
  Row(Add(5, 0, 1)).exclusive = true;
  EXPECT_EQ(Bound(), 45);
}

TEST_F(LowerBoundTest, OfTheCallersBuffersAllLieSideBySide) {
  const RegionId io = problem_.AddRegion(
      {.name = "io", .kind = RegionKind::kZeroCopy, .alignment = kZeroCopyAlignment});
  for (const int64_t size : {33, 40, 64}) {
    Buffer buffer{.size = Bytes(size), .region = io, .zero_copy = true};
    buffer.life = {.begin = size, .end = size + 1};
    problem_.AddBuffer(buffer);
  }
  const MemoryPlan plan = Plan();
  EXPECT_EQ(plan.regions[io.index()].size, Bytes(64 + 64 + 33)) << "the largest gap comes last";
  EXPECT_TRUE(plan.regions[io.index()].optimal);
  EXPECT_EQ(plan.regions[io.index()].lower_bound, Bytes(64 + 64 + 33));
}

TEST_F(LowerBoundTest, ASearchProvesMoreThanTheSum) {
  // Full at every moment, and no placement is as low as the sum of 8.
  const int64_t rows[][3] = {{4, 0, 1}, {3, 0, 2}, {1, 0, 2}, {3, 1, 5}, {1, 1, 4},
                             {2, 2, 4}, {2, 2, 5}, {3, 4, 6}, {4, 5, 6}, {1, 5, 6}};
  for (const auto& [size, begin, end] : rows) Add(size, begin, end);
  EXPECT_EQ(Bound(), 8);
  const MemoryPlan plan = Plan();
  EXPECT_EQ(plan.regions[0].lower_bound, Bytes(9));
  EXPECT_EQ(plan.total(), Bytes(9));
  EXPECT_TRUE(plan.optimal());
  problem_.regions[0].capacity = Bytes(8);
  const auto refused = HybridMemAssigner(1).Assign(problem_);
  ASSERT_TRUE(refused.ok());
  EXPECT_TRUE(refused->regions[0].infeasible);
  problem_.regions[0].capacity = Bytes(9);
  EXPECT_FALSE(Plan().regions[0].infeasible);
}

// Immutable addresses are chosen by us: a proof around them says nothing of other choices.
TEST_F(LowerBoundTest, WithAddressesOfOurChoiceTheSearchProvesNothingOfTheProblem) {
  Row(Add(4, 0, 1)).is_fixed_addr_prior = true;
  Row(Add(2, 0, 3)).is_fixed_addr_prior = true;
  Add(5, 1, 2);
  const MemoryPlan plan = Plan();
  EXPECT_EQ(plan.regions[0].size, Bytes(11)) << "above the second, which lies on the first";
  EXPECT_EQ(plan.regions[0].lower_bound, Bytes(7)) << "with the second at 0 seven would do";
  EXPECT_FALSE(plan.optimal());
}

}  // namespace lower_bound_test
}  // namespace plimsoll::plan
