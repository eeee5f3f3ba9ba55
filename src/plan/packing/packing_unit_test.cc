#include "plan/packing/packing_unit.h"

#include <gtest/gtest.h>

#include "plan/packing/greedy_packing.h"
#include "plan/packing/packing_oracle_for_tests.h"

namespace plimsoll::plan {
namespace packing_unit_test {

TEST(PackingUnitTest, DividesEverySizeAndFixedOffset) {
  EXPECT_EQ(CommonUnit({{{512, 0, 1}, {768, 0, 1}}}), 256);
  EXPECT_EQ(CommonUnit({{{512, 0, 1}, {768, 0, 1, 1, 128}}}), 128);
  EXPECT_EQ(CommonUnit({}), 1);
}

TEST(PackingUnitTest, WhatTakesNoRoomDoesNotCount) {
  EXPECT_EQ(CommonUnit({{{512, 0, 1}, {3, 4, 4}, {0, 0, 9}}}), 512);
}

TEST(PackingUnitTest, AnAlignmentThatEveryHeightKeepsDoesNotCount) {
  EXPECT_EQ(CommonUnit({{{512, 0, 1, 64}, {1024, 0, 1, 4096}}}), 512);
  EXPECT_EQ(CommonUnit({{{512, 0, 1, 96}}}), 32);
}

TEST(PackingUnitTest, HeightsFitUpToTheLastOf32Bits) {
  const auto stacked = [](int64_t size) { return Packing{{{size, 0, 1}, {size, 0, 1}}}; };
  EXPECT_TRUE(HeightsFit32Bits(stacked((int64_t{1} << 31) - 2), 1));
  EXPECT_FALSE(HeightsFit32Bits(stacked(int64_t{1} << 31), 1));
  EXPECT_TRUE(HeightsFit32Bits(stacked(int64_t{1} << 39), 512));
  EXPECT_FALSE(HeightsFit32Bits({{{1, 0, 1, 1, int64_t{1} << 32}}}, 1));
}

// The same packing in units and in heights that only 64 bits hold.
TEST(PackingUnitTest, PlacementsDoNotDependOnTheWidthOfHeights) {
  constexpr int64_t kScale = (int64_t{1} << 33) + 1;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const Packing narrow = RandomPacking({.items = 60, .moments = 40, .largest = 50}, seed);
    Packing wide = narrow;
    // One byte that fits anywhere keeps the unit at 1.
    for (PackingItem& item : wide.items) item.size *= kScale;
    wide.items.push_back({1, 1000, 1001});
    ASSERT_FALSE(HeightsFit32Bits(wide, CommonUnit(wide)));
    for (const GreedyOrder order : kGreedyOrders) {
      std::vector<int64_t> expected = PackGreedy(narrow, order).offsets;
      for (int64_t& offset : expected) offset *= kScale;
      expected.push_back(0);
      ASSERT_EQ(PackGreedy(wide, order).offsets, expected) << seed << Name(order);
    }
  }
}

}  // namespace packing_unit_test
}  // namespace plimsoll::plan
