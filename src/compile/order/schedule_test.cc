#include "compile/order/schedule.h"

#include <gtest/gtest.h>

#include "compile/order/order_modes.h"
#include "compile/order/schedule_oracle.h"

namespace plimsoll::compile {
namespace schedule_test {

// x (pinned) -> a -> b: `a` writes 10 bytes that only `b` reads.
Schedule Pair(int64_t output_bytes) {
  Schedule schedule;
  schedule.storages = 3;
  schedule.pinned = {true, false, false};
  schedule.values = {{0, 0}, {10, 1}, {output_bytes, 2}};
  schedule.nodes.resize(2);
  schedule.nodes[0] = {.reads = {0}, .writes = {1}, .in_place = {}, .after = {}, .workspace = 0};
  schedule.nodes[1] = {
      .reads = {1}, .writes = {2}, .in_place = {{2, 1}}, .after = {}, .workspace = 3};
  return schedule;
}

TEST(WalkOrderTest, TheOutputTakesOverADyingInputOfTheSameSize) {
  const Walk walk = WalkOrder(Pair(10), Order{0, 1});
  EXPECT_EQ(walk.peak, 13);
  EXPECT_EQ(walk.peak_node, 1);
  ASSERT_EQ(walk.in_place.size(), 1U);
  EXPECT_EQ(walk.in_place[0].node, 1);
  EXPECT_EQ(walk.in_place[0].output, 2);
  EXPECT_EQ(walk.in_place[0].input, 1);
}

TEST(WalkOrderTest, AnOutputOfAnotherSizeStandsNextToTheInput) {
  const Walk walk = WalkOrder(Pair(8), Order{0, 1});
  EXPECT_EQ(walk.peak, 21);
  EXPECT_TRUE(walk.in_place.empty());
}

TEST(WalkOrderTest, WhatIsPinnedIsNeverTakenOver) {
  Schedule schedule = Pair(10);
  schedule.pinned[1] = true;
  EXPECT_TRUE(WalkOrder(schedule, Order{0, 1}).in_place.empty());
}

TEST(WalkOrderTest, AnInputThatIsReadLaterIsNotTakenOver) {
  Schedule schedule = Pair(10);
  schedule.nodes.push_back({.reads = {1}, .writes = {}, .in_place = {}, .after = {}});
  EXPECT_EQ(WalkOrder(schedule, Order{0, 1, 2}).peak, 23);
  EXPECT_EQ(WalkOrder(schedule, Order{0, 2, 1}).peak, 13);
}

TEST(WalkOrderTest, TwoOutputsDoNotTakeTheSameInput) {
  Schedule schedule = Pair(10);
  schedule.values.push_back({10, 3});
  schedule.storages = 4;
  schedule.pinned.push_back(false);
  schedule.nodes[1].writes.push_back(3);
  schedule.nodes[1].in_place.push_back({3, 1});
  const Walk walk = WalkOrder(schedule, Order{0, 1});
  EXPECT_EQ(walk.peak, 23);
  EXPECT_EQ(walk.in_place.size(), 1U);
}

TEST(IsLegalOrderTest, OperandsComeBeforeTheirReadersAndAfterIsObeyed) {
  Schedule schedule = Pair(10);
  EXPECT_TRUE(IsLegalOrder(schedule, Order{0, 1}));
  EXPECT_FALSE(IsLegalOrder(schedule, Order{1, 0}));
  EXPECT_FALSE(IsLegalOrder(schedule, Order{0, 0}));
  EXPECT_FALSE(IsLegalOrder(schedule, Order{0}));
  schedule.nodes[1].reads = {0};
  EXPECT_TRUE(IsLegalOrder(schedule, Order{1, 0}));
  schedule.nodes[1].after = {0};
  EXPECT_FALSE(IsLegalOrder(schedule, Order{1, 0}));
}

TEST(WalkOrderTest, NoNodesNoPeak) {
  const Walk walk = WalkOrder(Schedule{}, Order{});
  EXPECT_EQ(walk.peak, 0);
  EXPECT_EQ(walk.peak_node, -1);
}

TEST(WalkOrderTest, AgreesWithTheRulesOnRandomSchedulesAndOrders) {
  for (uint32_t seed = 0; seed < 500; ++seed) {
    const Schedule schedule = RandomSchedule(seed, 1 + static_cast<int32_t>(seed % 14));
    for (const OrderMode mode : {OrderMode::kBreadthFirst, OrderMode::kDepthFirst,
                                 OrderMode::kReverseDepthFirst, OrderMode::kStable}) {
      const Order order = TopologicalOrder(schedule, mode);
      ASSERT_TRUE(IsLegal(schedule, order)) << "seed " << seed;
      EXPECT_EQ(WalkOrder(schedule, order).peak, PeakByRules(schedule, order)) << "seed " << seed;
    }
  }
}

}  // namespace schedule_test
}  // namespace plimsoll::compile
