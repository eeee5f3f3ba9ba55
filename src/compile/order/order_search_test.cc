#include "compile/order/order_search.h"

#include <gtest/gtest.h>

#include "compile/order/schedule_oracle.h"

namespace plimsoll::compile {
namespace order_search_test {

int64_t PeakOf(const Schedule& schedule, int64_t steps) {
  return WalkOrder(schedule, SearchOrder(schedule, {.steps = steps})).peak;
}

TEST(OrderSearchTest, FindsTheLowestPeakOfSmallSchedules) {
  for (uint32_t seed = 1000; seed < 1400; ++seed) {
    const Schedule schedule = RandomSchedule(seed, 1 + static_cast<int32_t>(seed % 9));
    const Order order = SearchOrder(schedule);
    ASSERT_TRUE(IsLegal(schedule, order)) << "seed " << seed;
    EXPECT_EQ(WalkOrder(schedule, order).peak, Enumerate(schedule).lowest_peak) << "seed " << seed;
  }
}

TEST(OrderSearchTest, WhatIsProvenHoldsForEveryOrder) {
  int reached = 0;
  for (uint32_t seed = 3000; seed < 3300; ++seed) {
    const Schedule schedule = RandomSchedule(seed, 1 + static_cast<int32_t>(seed % 10));
    const int64_t lowest = Enumerate(schedule).lowest_peak;
    for (const int64_t steps : {int64_t{0}, int64_t{100}, OrderEffort::kDefault}) {
      const FoundOrder found = FindOrder(schedule, {.steps = steps});
      EXPECT_LE(found.lower_bound, lowest) << "seed " << seed << " steps " << steps;
      const int64_t peak = WalkOrder(schedule, found.order).peak;
      if (steps == OrderEffort::kDefault && found.lower_bound == peak) ++reached;
    }
  }
  EXPECT_EQ(reached, 300);
}

TEST(OrderSearchTest, NeverAboveTheFileAndNeverAboveLessEffort) {
  for (uint32_t seed = 0; seed < 60; ++seed) {
    const Schedule schedule = RandomSchedule(seed, 30);
    int64_t peak = WalkOrder(schedule, FileOrder(schedule)).peak;
    for (const int64_t steps : {0, 1, 100, 1'000, 3'000, 10'000, 100'000}) {
      const Order order = SearchOrder(schedule, {.steps = steps});
      ASSERT_TRUE(IsLegal(schedule, order)) << "seed " << seed;
      EXPECT_EQ(order, SearchOrder(schedule, {.steps = steps})) << "seed " << seed;
      EXPECT_LE(WalkOrder(schedule, order).peak, peak) << "seed " << seed << " steps " << steps;
      peak = WalkOrder(schedule, order).peak;
    }
  }
}

TEST(OrderSearchTest, AnOrderThatCannotBeBetterIsLeftAsItIs) {
  Schedule chain;
  for (int32_t i = 0; i < 50; ++i) {
    chain.values.push_back({100 - i, chain.storages++});
    chain.pinned.push_back(false);
    chain.nodes.push_back({.reads = {}, .writes = {i}, .in_place = {}, .after = {}});
    if (i > 0) chain.nodes.back().reads.push_back(i - 1);
  }
  EXPECT_EQ(SearchOrder(chain), FileOrder(chain));
}

// `branches` chains from one input, each 1 byte -> 100 bytes -> 1 byte; then all are joined. The
// file lists them level by level.
Schedule WideBranches(int32_t branches) {
  Schedule schedule;
  ScheduleNode join;
  for (int32_t level = 0; level < 3; ++level) {
    for (int32_t branch = 0; branch < branches; ++branch) {
      const auto value = static_cast<int32_t>(schedule.values.size());
      schedule.values.push_back({level == 1 ? 100 : 1, schedule.storages++});
      schedule.pinned.push_back(false);
      schedule.nodes.push_back({.reads = {}, .writes = {value}, .in_place = {}, .after = {}});
      if (level > 0) schedule.nodes.back().reads.push_back(value - branches);
      if (level == 2) join.reads.push_back(value);
    }
  }
  schedule.nodes.push_back(join);
  return schedule;
}

TEST(OrderSearchTest, BranchesRunOneAfterTheOther) {
  const Schedule schedule = WideBranches(40);
  EXPECT_EQ(WalkOrder(schedule, FileOrder(schedule)).peak, 40 * 100 + 1);
  EXPECT_EQ(PeakOf(schedule, OrderEffort::kDefault), 39 + 101);
}

TEST(OrderSearchTest, EqualLayersAreAllRepaired) {
  // Layers of three branches, 1 byte -> 100 bytes -> 1 byte, one behind the other.
  constexpr int32_t kLayers = 500;
  Schedule schedule;
  const auto add = [&](std::vector<int32_t> reads, int64_t bytes) {
    const auto value = static_cast<int32_t>(schedule.values.size());
    schedule.values.push_back({bytes, schedule.storages++});
    schedule.pinned.push_back(false);
    schedule.nodes.push_back(
        {.reads = std::move(reads), .writes = {value}, .in_place = {}, .after = {}});
    return value;
  };
  int32_t last = add({}, 1);
  for (int32_t layer = 0; layer < kLayers; ++layer) {
    std::vector<int32_t> wide;
    for (int branch = 0; branch < 3; ++branch) wide.push_back(add({last}, 100));
    std::vector<int32_t> narrow;
    for (const int32_t value : wide) narrow.push_back(add({value}, 1));
    last = add(narrow, 1);
  }
  EXPECT_EQ(WalkOrder(schedule, FileOrder(schedule)).peak, 301);
  const FoundOrder found = FindOrder(schedule, {.steps = 1'000});
  EXPECT_EQ(WalkOrder(schedule, found.order).peak, 103);
  EXPECT_EQ(found.lower_bound, 103);
}

// A graph of 30,000 nodes of which each adds two of the last 1,500 values; what nobody reads is
// added up at the end of the file.
TEST(OrderSearchTest, LargeGraphsAreNotGivenUp) {
  constexpr int32_t kNodes = 30'000;
  std::mt19937 random(11);
  Schedule schedule;
  std::vector<bool> read(kNodes);
  const auto add = [&](int32_t one, int32_t other) {
    const auto value = static_cast<int32_t>(schedule.values.size());
    schedule.values.push_back({1, schedule.storages++});
    schedule.pinned.push_back(false);
    ScheduleNode node{.reads = {}, .writes = {value}, .in_place = {}, .after = {}};
    for (const int32_t operand : {one, other}) {
      if (operand < 0 || std::ranges::count(node.reads, operand) > 0) continue;
      node.reads.push_back(operand);
      if (operand < kNodes) read[operand] = true;
    }
    schedule.nodes.push_back(std::move(node));
    return value;
  };
  for (int32_t i = 0; i < kNodes; ++i) {
    const auto recent = static_cast<uint32_t>(std::clamp(i, 1, 1500));
    add(i - 1 - static_cast<int32_t>(random() % recent),
        i - 1 - static_cast<int32_t>(random() % recent));
  }
  int32_t total = -1;
  for (int32_t i = 0; i < kNodes; ++i) {
    if (!read[i]) total = total < 0 ? i : add(total, i);
  }
  const int64_t file = WalkOrder(schedule, FileOrder(schedule)).peak;
  EXPECT_LE(PeakOf(schedule, 0), file / 4);
}

TEST(OrderSearchTest, ThousandsOfOptimizerStepsThatMayRunAreNoTrouble) {
  // Forward keeps 3 bytes per layer for backward; each gradient of 5 bytes has a step at the end of
  // the file, and two steps that need nothing.
  constexpr int32_t kLayers = 1500;
  Schedule schedule;
  const auto add = [&](std::vector<int32_t> reads, int64_t bytes) {
    schedule.values.push_back({bytes, schedule.storages++});
    schedule.pinned.push_back(bytes == 0);
    const auto value = static_cast<int32_t>(schedule.values.size()) - 1;
    schedule.nodes.push_back(
        {.reads = std::move(reads), .writes = {value}, .in_place = {}, .after = {}});
    return value;
  };
  std::vector<int32_t> kept = {add({}, 3)};
  for (int32_t layer = 1; layer < kLayers; ++layer) kept.push_back(add({kept.back()}, 3));
  std::vector<int32_t> gradients;
  int32_t error = add({kept.back()}, 3);
  for (int32_t layer = kLayers - 1; layer >= 0; --layer) {
    gradients.push_back(add({error, kept[layer]}, 5));
    error = add({error, kept[layer]}, 3);
  }
  for (const int32_t gradient : gradients) {
    add({}, 0);
    add({gradient}, 0);
    add({}, 0);
  }
  EXPECT_GE(WalkOrder(schedule, FileOrder(schedule)).peak, 5 * kLayers);
  EXPECT_EQ(PeakOf(schedule, OrderEffort::kDefault), 3 * kLayers + 3 + 5);
}

TEST(OrderSearchTest, SizesWhoseSumOverflowsKeepTheFilesOrder) {
  Schedule schedule = WideBranches(4);
  for (ScheduleValue& value : schedule.values) value.bytes = INT64_MAX / 2;
  EXPECT_EQ(SearchOrder(schedule), FileOrder(schedule));
}

TEST(OrderSearchTest, WhoIsStoppedIsContentWithWhatIsFoundByThen) {
  const std::atomic<bool> stop = true;
  for (uint32_t seed = 0; seed < 20; ++seed) {
    const Schedule schedule = RandomSchedule(seed, 30);
    const Order order = SearchOrder(schedule, {.steps = int64_t{1} << 50, .stop = &stop});
    ASSERT_TRUE(IsLegal(schedule, order)) << "seed " << seed;
    EXPECT_LE(WalkOrder(schedule, order).peak, WalkOrder(schedule, FileOrder(schedule)).peak);
  }
}

TEST(OrderSearchTest, AnEmptyScheduleHasAnEmptyOrder) {
  EXPECT_TRUE(SearchOrder(Schedule{}).empty());
}

}  // namespace order_search_test
}  // namespace plimsoll::compile
