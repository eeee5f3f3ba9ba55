#include "compile/order/search/order_bound.h"

#include <gtest/gtest.h>

#include "compile/order/schedule_oracle.h"

namespace plimsoll::compile {
namespace order_bound_test {

TEST(OrderBoundTest, IsNeverAboveTheLowestPeak) {
  int reached = 0;
  for (uint32_t seed = 0; seed < 300; ++seed) {
    const Schedule schedule = RandomSchedule(seed, 1 + static_cast<int32_t>(seed % 9));
    const int64_t bound = LowestPeak(OrderGraph(schedule));
    const int64_t lowest = Enumerate(schedule).lowest_peak;
    EXPECT_LE(bound, lowest) << "seed " << seed;
    if (bound == lowest) ++reached;
  }
  EXPECT_GT(reached, 100);
}

// 600 nodes in a row, more than one group of columns, and one long-lived value.
TEST(OrderBoundTest, CountsWhatLivesAcrossALongChain) {
  Schedule schedule;
  for (int32_t i = 0; i < 600; ++i) {
    schedule.values.push_back({i == 0 ? 1000 : 10, schedule.storages++});
    schedule.pinned.push_back(false);
    schedule.nodes.push_back({.reads = {}, .writes = {i}, .in_place = {}, .after = {}});
    if (i > 0) schedule.nodes.back().reads.push_back(i - 1);
  }
  schedule.nodes.back().reads.push_back(0);
  EXPECT_EQ(LowestPeak(OrderGraph(schedule)), 1000 + 10 + 10);
}

}  // namespace order_bound_test
}  // namespace plimsoll::compile
