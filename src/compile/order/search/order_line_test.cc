#include "compile/order/search/order_line.h"

#include <gtest/gtest.h>

#include "compile/order/order_cost.h"
#include "compile/order/schedule_oracle.h"

namespace plimsoll::compile {
namespace order_line_test {

// A random legal order.
Order Shuffled(const Schedule& schedule, std::mt19937& random) {
  Order order;
  NodeSet done = 0;
  while (order.size() < schedule.nodes.size()) {
    const auto node = static_cast<int32_t>(random() % schedule.nodes.size());
    if (!MayRun(schedule, done, node)) continue;
    order.push_back(node);
    done |= NodeSet{1} << node;
  }
  return order;
}

TEST(OrderLineTest, AChangedStretchIsMeasuredAsTheWholeOrderWouldBe) {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    const Schedule schedule = RandomSchedule(seed, 2 + static_cast<int32_t>(seed % 14));
    const OrderGraph graph(schedule);
    OrderLine line(graph, FileOrder(schedule));
    for (int change = 0; change < 5; ++change) {
      const Order other = Shuffled(schedule, random);
      line.Replace(0, other);
      const std::vector<int64_t> bytes = Waterline(graph, other);
      const auto highest = std::ranges::max_element(bytes);
      EXPECT_EQ(line.order(), other);
      EXPECT_EQ(line.peak(), *highest) << "seed " << seed;
      EXPECT_EQ(line.peak_place(), highest - bytes.begin()) << "seed " << seed;
      EXPECT_EQ(line.PlacesAtPeak(), std::ranges::count(bytes, *highest)) << "seed " << seed;
      EXPECT_EQ(line.peak(), PeakByRules(schedule, other)) << "seed " << seed;
    }
  }
}

TEST(OrderLineTest, AWindowOfAWindowIsTheWindowItself) {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    const Schedule schedule = RandomSchedule(seed, 14);
    const OrderGraph graph(schedule);
    const OrderLine line(graph, FileOrder(schedule));
    const OrderGraph outer = line.Window(2, 12);
    const OrderLine inside(outer, FileOrder(RandomSchedule(seed, 10)));
    EXPECT_EQ(inside.peak(), line.PeakWithin(2, 12)) << "seed " << seed;
    const OrderGraph direct = line.Window(4, 9);
    const OrderGraph nested = inside.Window(2, 7);
    EXPECT_TRUE(direct == nested) << "seed " << seed;
    EXPECT_EQ(direct.Hash(), nested.Hash()) << "seed " << seed;
  }
}

TEST(OrderLineTest, EqualLayersAreEqualWindowsAndOthersAreNot) {
  Schedule schedule;
  for (int32_t i = 0; i < 12; ++i) {
    schedule.values.push_back({i == 11 ? 7 : 5 + i % 3, schedule.storages++});
    schedule.pinned.push_back(false);
    schedule.nodes.push_back({.reads = {}, .writes = {i}, .in_place = {}, .after = {}});
    if (i > 0) schedule.nodes.back().reads.push_back(i - 1);
  }
  schedule.values[10].bytes = 100;
  const OrderGraph graph(schedule);
  const OrderLine line(graph, FileOrder(schedule));
  EXPECT_TRUE(line.Window(3, 6) == line.Window(6, 9));
  EXPECT_EQ(line.Window(3, 6).Hash(), line.Window(6, 9).Hash());
  EXPECT_FALSE(line.Window(3, 6) == line.Window(9, 12));
}

}  // namespace order_line_test
}  // namespace plimsoll::compile
