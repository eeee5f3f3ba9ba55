#include "compile/order/search/order_improver.h"

#include <gtest/gtest.h>

#include "compile/order/schedule_oracle.h"

namespace plimsoll::compile {
namespace order_improver_test {

TEST(OrderImproverTest, ItsBoundHoldsAndIsReachedWhereItSaysSo) {
  int proven = 0;
  for (uint32_t seed = 2000; seed < 2300; ++seed) {
    const Schedule schedule = RandomSchedule(seed, 1 + static_cast<int32_t>(seed % 10));
    OrderImprover improver{OrderGraph(schedule)};
    const int64_t lowest = Enumerate(schedule).lowest_peak;
    int64_t steps = 1'000'000;
    EXPECT_LE(improver.lower_bound(), lowest) << "seed " << seed;
    while (improver.Improve(0, steps)) {
      ASSERT_TRUE(IsLegal(schedule, improver.order())) << "seed " << seed;
      EXPECT_EQ(improver.peak(), PeakByRules(schedule, improver.order())) << "seed " << seed;
      EXPECT_LE(improver.lower_bound(), lowest) << "seed " << seed;
    }
    EXPECT_LE(improver.lower_bound(), lowest) << "seed " << seed;
    EXPECT_EQ(improver.peak(), lowest) << "seed " << seed;
    if (improver.Proven()) ++proven;
  }
  EXPECT_EQ(proven, 300);
}

TEST(OrderImproverTest, OrdersThatNeedNoSearchAreTriedWithoutSteps) {
  // 0 and 1 each write 10 bytes, which 2 and 3 read: 0 2 1 3 is better.
  Schedule schedule;
  schedule.storages = 2;
  schedule.pinned = {false, false};
  schedule.values = {{10, 0}, {10, 1}};
  schedule.nodes = {{.reads = {}, .writes = {0}, .in_place = {}, .after = {}},
                    {.reads = {}, .writes = {1}, .in_place = {}, .after = {}},
                    {.reads = {0}, .writes = {}, .in_place = {}, .after = {}},
                    {.reads = {1}, .writes = {}, .in_place = {}, .after = {}}};
  OrderImprover improver{OrderGraph(schedule)};
  int64_t steps = 0;
  EXPECT_TRUE(improver.Improve(0, steps));
  EXPECT_EQ(improver.peak(), 10);
}

TEST(OrderImproverTest, WhatIsEnoughIsNotWorkedOn) {
  const Schedule schedule = RandomSchedule(5, 12);
  OrderImprover improver{OrderGraph(schedule)};
  const Order before = improver.order();
  int64_t steps = 1'000'000;
  EXPECT_FALSE(improver.Improve(improver.peak(), steps));
  EXPECT_EQ(improver.order(), before);
}

}  // namespace order_improver_test
}  // namespace plimsoll::compile
