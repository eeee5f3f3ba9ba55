#include "compile/order/search/order_cut.h"

#include <gtest/gtest.h>

#include "compile/order/schedule_oracle.h"

namespace plimsoll::compile {
namespace order_cut_test {

bool HasOneChanceAnOutput(const ScheduleNode& node) {
  return std::ranges::all_of(node.writes, [&](int32_t output) {
    return std::ranges::count(node.in_place, output, &InPlaceChance::output) <= 1;
  });
}

TEST(OrderCutTest, IsTheCheapestMomentOfAllOrders) {
  int exact = 0;
  for (uint32_t seed = 0; seed < 200; ++seed) {
    const Schedule schedule = RandomSchedule(seed, 9);
    const OrderGraph graph(schedule);
    const Enumeration all = Enumerate(schedule);
    for (int32_t node = 0; node < graph.size(); ++node) {
      const CheapestMoment moment = FindCheapestMoment(graph, node, INT64_MAX);
      ASSERT_TRUE(moment.found);
      EXPECT_LE(moment.bytes, all.cheapest[node]) << "seed " << seed << " node " << node;
      if (!HasOneChanceAnOutput(schedule.nodes[node]) || schedule.nodes[node].writes.size() > 1) {
        continue;
      }
      ++exact;
      EXPECT_EQ(moment.bytes, all.cheapest[node]) << "seed " << seed << " node " << node;
      NodeSet before = 0;
      for (int32_t at = 0; at < graph.size(); ++at) {
        if (moment.before[at]) before |= NodeSet{1} << at;
      }
      EXPECT_TRUE(MayRun(schedule, before, node));
      EXPECT_EQ(BytesWhile(schedule, before, node), moment.bytes) << "seed " << seed;
    }
  }
  EXPECT_GT(exact, 500);
}

// 0 writes 8 bytes, 2 turns them into 5, 3 reads those and waits for 1.
Schedule RoomToShrink() {
  Schedule schedule;
  schedule.storages = 2;
  schedule.pinned = {false, false};
  schedule.values = {{8, 0}, {5, 1}};
  schedule.nodes = {{.reads = {}, .writes = {0}, .in_place = {}, .after = {}},
                    {.reads = {}, .writes = {}, .in_place = {}, .after = {0}},
                    {.reads = {0}, .writes = {1}, .in_place = {}, .after = {}},
                    {.reads = {1}, .writes = {}, .in_place = {}, .after = {1}}};
  return schedule;
}

TEST(OrderCutTest, WhatShrinksTheLiveBytesRunsBefore) {
  const CheapestMoment moment = FindCheapestMoment(OrderGraph(RoomToShrink()), 1, INT64_MAX);
  ASSERT_TRUE(moment.found);
  EXPECT_EQ(moment.bytes, 5);
  EXPECT_EQ(moment.before, (std::vector<bool>{true, false, true, false}));
}

TEST(OrderCutTest, OutOfStepsNothingIsFound) {
  const CheapestMoment moment = FindCheapestMoment(OrderGraph(RoomToShrink()), 1, 0);
  EXPECT_FALSE(moment.found);
  EXPECT_TRUE(moment.before.empty());
}

}  // namespace order_cut_test
}  // namespace plimsoll::compile
