#include "compile/order/search/order_list.h"

#include <gtest/gtest.h>

#include "compile/order/order_modes.h"
#include "compile/order/schedule_oracle.h"

namespace plimsoll::compile {
namespace order_list_test {

TEST(OrderListTest, NeitherDirectionRaisesThePeak) {
  for (uint32_t seed = 0; seed < 1000; ++seed) {
    const Schedule schedule = RandomSchedule(seed, 2 + static_cast<int32_t>(seed % 20));
    const OrderGraph graph(schedule);
    for (const OrderMode mode : {OrderMode::kStable, OrderMode::kBreadthFirst}) {
      const Order order = TopologicalOrder(schedule, mode);
      const int64_t peak = WalkOrder(schedule, order).peak;
      const Order early = ListForward(graph, order, peak, ListChoice::kRank);
      const Order late = ListBackward(graph, order, peak);
      ASSERT_TRUE(IsLegal(schedule, early) && IsLegal(schedule, late)) << "seed " << seed;
      EXPECT_LE(WalkOrder(schedule, early).peak, peak) << "seed " << seed;
      EXPECT_LE(WalkOrder(schedule, late).peak, peak) << "seed " << seed;
    }
  }
}

// Four gradients of 10 bytes, then four optimizer steps, as a file lists them: each gradient waits
// for the one before, each step reads one gradient and updates a variable in the caller's memory.
Schedule GradientsThenSteps() {
  Schedule schedule;
  for (int32_t i = 0; i < 4; ++i) {
    schedule.values.push_back({10, schedule.storages++});
    schedule.pinned.push_back(false);
    ScheduleNode gradient{.reads = {}, .writes = {i}, .in_place = {}, .after = {}};
    if (i > 0) gradient.after.push_back(i - 1);
    schedule.nodes.push_back(gradient);
  }
  for (int32_t i = 0; i < 4; ++i) {
    schedule.nodes.push_back({.reads = {i}, .writes = {}, .in_place = {}, .after = {}});
  }
  return schedule;
}

TEST(OrderListTest, AStepRunsAsSoonAsItsGradientIsThere) {
  const Schedule schedule = GradientsThenSteps();
  const Order file = FileOrder(schedule);
  EXPECT_EQ(WalkOrder(schedule, file).peak, 40);
  const Order early = ListForward(OrderGraph(schedule), file, 40, ListChoice::kRank);
  EXPECT_EQ(early, (Order{0, 4, 1, 5, 2, 6, 3, 7}));
  EXPECT_EQ(WalkOrder(schedule, early).peak, 10);
}

TEST(OrderListTest, AProducerWaitsForItsUser) {
  // 0 and 1 each write 10 bytes that 2 and 3 read; the file lists both producers first.
  Schedule schedule;
  schedule.storages = 2;
  schedule.pinned = {false, false};
  schedule.values = {{10, 0}, {10, 1}};
  schedule.nodes = {{.reads = {}, .writes = {0}, .in_place = {}, .after = {}},
                    {.reads = {}, .writes = {1}, .in_place = {}, .after = {}},
                    {.reads = {0}, .writes = {}, .in_place = {}, .after = {}},
                    {.reads = {1}, .writes = {}, .in_place = {}, .after = {2}}};
  EXPECT_EQ(ListBackward(OrderGraph(schedule), FileOrder(schedule), 20), (Order{0, 2, 1, 3}));
}

TEST(OrderListTest, ByFewestLiveBytesTheBranchThatEndsIsFinishedFirst) {
  // 0 and 2 write 4 and 6 bytes; 1 and 3 turn them into one byte each.
  Schedule schedule;
  schedule.storages = 4;
  schedule.pinned.assign(4, false);
  schedule.values = {{4, 0}, {1, 1}, {6, 2}, {1, 3}};
  schedule.nodes = {{.reads = {}, .writes = {2}, .in_place = {}, .after = {}},
                    {.reads = {}, .writes = {0}, .in_place = {}, .after = {}},
                    {.reads = {2}, .writes = {3}, .in_place = {}, .after = {}},
                    {.reads = {0}, .writes = {1}, .in_place = {}, .after = {}},
                    {.reads = {1, 3}, .writes = {}, .in_place = {}, .after = {}}};
  EXPECT_EQ(ListForward(OrderGraph(schedule), FileOrder(schedule), 11, ListChoice::kLeastLive),
            (Order{1, 3, 0, 2, 4}));
}

}  // namespace order_list_test
}  // namespace plimsoll::compile
