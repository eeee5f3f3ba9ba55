#include "compile/order/order_modes.h"

#include <gtest/gtest.h>

#include <utility>

namespace plimsoll::compile {
namespace order_modes_test {

// `size` nodes that only wait for one another.
Schedule Waiting(int32_t size, const std::vector<std::pair<int32_t, int32_t>>& edges) {
  Schedule schedule;
  schedule.nodes.resize(static_cast<size_t>(size));
  for (const auto& [from, to] : edges) schedule.nodes[to].after.push_back(from);
  return schedule;
}

struct Case {
  OrderMode mode;
  Order order;
};

TEST(OrderModesTest, TwoBranchesThatJoin) {
  // 0 feeds 1 -> 3 and 2 -> 4; 5 joins them.
  const Schedule schedule = Waiting(6, {{0, 1}, {0, 2}, {1, 3}, {2, 4}, {3, 5}, {4, 5}});
  for (const auto& [mode, order] : {Case{OrderMode::kBreadthFirst, {0, 1, 2, 3, 4, 5}},
                                    Case{OrderMode::kDepthFirst, {0, 1, 3, 2, 4, 5}},
                                    Case{OrderMode::kReverseDepthFirst, {0, 1, 3, 2, 4, 5}},
                                    Case{OrderMode::kStable, {0, 1, 2, 3, 4, 5}}}) {
    EXPECT_EQ(TopologicalOrder(schedule, mode), order) << static_cast<int>(mode);
  }
}

TEST(OrderModesTest, ALateUserAndAnEarlyProducer) {
  // 0 and 1 start; 1 -> 2; 3 joins 0 and 2.
  const Schedule schedule = Waiting(5, {{1, 2}, {2, 3}, {0, 4}, {3, 4}});
  for (const auto& [mode, order] : {Case{OrderMode::kBreadthFirst, {0, 1, 2, 3, 4}},
                                    Case{OrderMode::kDepthFirst, {0, 1, 2, 3, 4}},
                                    Case{OrderMode::kReverseDepthFirst, {0, 1, 2, 3, 4}},
                                    Case{OrderMode::kStable, {0, 1, 2, 3, 4}}}) {
    EXPECT_EQ(TopologicalOrder(schedule, mode), order) << static_cast<int>(mode);
  }
}

TEST(OrderModesTest, FromTheEndsNothingRunsBeforeItIsNeeded) {
  // Two ends: 3 needs 1, and 4 needs 0 and 2.
  const Schedule schedule = Waiting(5, {{1, 3}, {0, 4}, {2, 4}});
  EXPECT_EQ(TopologicalOrder(schedule, OrderMode::kReverseDepthFirst), (Order{1, 3, 0, 2, 4}));
  EXPECT_EQ(TopologicalOrder(schedule, OrderMode::kDepthFirst), (Order{0, 1, 3, 2, 4}));
  EXPECT_EQ(TopologicalOrder(schedule, OrderMode::kBreadthFirst), (Order{0, 1, 2, 3, 4}));
}

TEST(OrderModesTest, StableMovesOnlyWhatMustWait) {
  // The file lists 1 before the node 3 that it waits for.
  const Schedule schedule = Waiting(5, {{3, 1}, {0, 2}});
  EXPECT_EQ(TopologicalOrder(schedule, OrderMode::kStable), (Order{0, 2, 3, 1, 4}));
}

TEST(OrderModesTest, AnEmptyScheduleHasAnEmptyOrder) {
  EXPECT_TRUE(TopologicalOrder(Schedule{}, OrderMode::kDepthFirst).empty());
}

}  // namespace order_modes_test
}  // namespace plimsoll::compile
