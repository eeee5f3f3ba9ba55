#include "compile/order/search/order_beam.h"

#include <gtest/gtest.h>

#include "compile/order/order_cost.h"
#include "compile/order/schedule_oracle.h"
#include "compile/order/search/order_bound.h"
#include "compile/order/search/order_line.h"

namespace plimsoll::compile {
namespace order_beam_test {

constexpr BeamLimits kWide{.width = 1 << 12, .bound = INT64_MAX / 2, .steps = INT64_MAX};

TEST(OrderBeamTest, WideEnoughItFindsTheLowestPeak) {
  for (uint32_t seed = 0; seed < 400; ++seed) {
    const Schedule schedule = RandomSchedule(seed, 1 + static_cast<int32_t>(seed % 9));
    const BeamAnswer answer = SearchBeam(OrderGraph(schedule), kWide);
    EXPECT_TRUE(answer.exhaustive);
    ASSERT_TRUE(IsLegal(schedule, answer.order)) << "seed " << seed;
    EXPECT_EQ(WalkOrder(schedule, answer.order).peak, answer.peak) << "seed " << seed;
    EXPECT_EQ(answer.peak, Enumerate(schedule).lowest_peak) << "seed " << seed;
  }
}

TEST(OrderBeamTest, NothingBelowTheLowestPeakIsFound) {
  for (uint32_t seed = 0; seed < 100; ++seed) {
    const Schedule schedule = RandomSchedule(seed, 8);
    BeamLimits limits = kWide;
    limits.bound = Enumerate(schedule).lowest_peak;
    const BeamAnswer answer = SearchBeam(OrderGraph(schedule), limits);
    EXPECT_TRUE(answer.order.empty()) << "seed " << seed;
    EXPECT_TRUE(answer.exhaustive) << "seed " << seed;
  }
}

TEST(OrderBeamTest, ANarrowBeamThatDropsSetsSaysSo) {
  int narrow_misses = 0;
  for (uint32_t seed = 0; seed < 400; ++seed) {
    const Schedule schedule = RandomSchedule(seed, 12);
    BeamLimits limits = kWide;
    limits.width = 1;
    const BeamAnswer answer = SearchBeam(OrderGraph(schedule), limits);
    ASSERT_TRUE(IsLegal(schedule, answer.order));
    const int64_t lowest = Enumerate(schedule).lowest_peak;
    if (answer.peak > lowest) ++narrow_misses;
    EXPECT_TRUE(!answer.exhaustive || answer.peak == lowest) << "seed " << seed;
  }
  EXPECT_GT(narrow_misses, 0);
}

TEST(OrderBeamTest, OutOfStepsThereIsNoAnswer) {
  BeamLimits limits = kWide;
  limits.steps = 1;
  const BeamAnswer answer = SearchBeam(OrderGraph(RandomSchedule(3, 12)), limits);
  EXPECT_TRUE(answer.order.empty());
  EXPECT_FALSE(answer.exhaustive);
}

TEST(OrderBeamTest, AWindowReorderedIsWhatTheWholeOrderBecomes) {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    const Schedule schedule = RandomSchedule(seed, 14);
    const OrderGraph whole(schedule);
    Order order = FileOrder(schedule);
    const auto begin = static_cast<int32_t>(seed % 7);
    const int32_t end = begin + 7;
    const OrderGraph window = OrderLine(whole, order).Window(begin, end);
    const BeamAnswer answer = SearchBeam(window, kWide);
    ASSERT_EQ(answer.order.size(), 7U);
    EXPECT_LE(LowestPeak(window), answer.peak);
    for (int32_t i = begin; i < end; ++i) order[i] = begin + answer.order[i - begin];
    ASSERT_TRUE(IsLegal(schedule, order)) << "seed " << seed;
    const std::vector<int64_t> line = Waterline(whole, order);
    EXPECT_LE(*std::max_element(line.begin() + begin, line.begin() + end), answer.peak);
    EXPECT_EQ(*std::max_element(line.begin(), line.end()), PeakByRules(schedule, order));
  }
}

}  // namespace order_beam_test
}  // namespace plimsoll::compile
