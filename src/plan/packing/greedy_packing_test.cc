#include "plan/packing/greedy_packing.h"

#include <gtest/gtest.h>

#include "plan/packing/packing_oracle_for_tests.h"

namespace plimsoll::plan {
namespace greedy_packing_test {

PackingItem Item(int64_t size, int32_t begin, int32_t end, int64_t alignment = 1,
                 int64_t fixed = -1) {
  return {size, begin, end, alignment, fixed};
}

TEST(GreedyPackingTest, LowerBoundIsTheLargestLiveSum) {
  EXPECT_EQ(PackingLowerBound({{Item(4, 0, 3), Item(3, 2, 5), Item(6, 3, 4)}}), 9);
}

TEST(GreedyPackingTest, LivesThatMeetEndToBeginDoNotAddUp) {
  EXPECT_EQ(PackingLowerBound({{Item(4, 0, 3), Item(5, 3, 6)}}), 5);
}

TEST(GreedyPackingTest, LowerBoundReachesTheTopOfAFixedItem) {
  EXPECT_EQ(PackingLowerBound({{Item(4, 0, 3), Item(1, 5, 6, 1, 20)}}), 21);
}

TEST(GreedyPackingTest, NothingNeedsNoRoom) {
  const PackingAnswer answer = PackGreedy({}, GreedyOrder::kSize);
  EXPECT_EQ(answer.height, 0);
  EXPECT_TRUE(answer.optimal);
}

TEST(GreedyPackingTest, ItemsOfNoSizeOrNoLifeTakeNoRoom) {
  const Packing packing{{Item(0, 0, 9), Item(7, 4, 4), Item(3, 0, 9)}};
  for (GreedyOrder order : kGreedyOrders) EXPECT_EQ(PackGreedy(packing, order).height, 3);
}

TEST(GreedyPackingTest, EachOrderPlacesItsFavouriteFirst) {
  // A large short life, a small long one, one in the middle of the crowd; all meet at moment 5.
  const Packing packing{
      {Item(9, 5, 6), Item(1, 0, 40), Item(6, 4, 12), Item(2, 5, 41), Item(4, 0, 4)}};
  const auto first = [&](GreedyOrder order) { return GreedySequence(packing, order).front(); };
  EXPECT_EQ(first(GreedyOrder::kSize), 0);
  EXPECT_EQ(first(GreedyOrder::kBreadth), 0);
  EXPECT_EQ(first(GreedyOrder::kArea), 3);
  EXPECT_EQ(first(GreedyOrder::kLength), 1);
  EXPECT_EQ(first(GreedyOrder::kStart), 4);
  EXPECT_EQ(first(GreedyOrder::kEnd), 3);
}

TEST(GreedyPackingTest, AnItemGoesIntoTheLowestGapThatHoldsItForItsWholeLife) {
  // By size: 5 at 0, 4 on it, then 2 under that after the 5, and 2 above all that touches its life.
  const Packing packing{{Item(5, 0, 4), Item(4, 2, 8), Item(2, 4, 8), Item(2, 3, 5)}};
  EXPECT_EQ(PackGreedy(packing, GreedyOrder::kSize).offsets, (std::vector<int64_t>{0, 5, 0, 9}));
}

TEST(GreedyPackingTest, OthersFlowAroundFixedItems) {
  const Packing packing{{Item(8, 0, 4), Item(3, 0, 4, 1, 5), Item(2, 1, 2), Item(5, 2, 3)}};
  const PackingAnswer answer = PackGreedy(packing, GreedyOrder::kSize);
  EXPECT_EQ(answer.offsets, (std::vector<int64_t>{8, 5, 0, 0}));
}

TEST(GreedyPackingTest, OffsetsAreAligned) {
  const Packing packing{{Item(5, 0, 2, 1), Item(4, 0, 2, 8), Item(3, 0, 2, 4)}};
  const PackingAnswer answer = PackGreedy(packing, GreedyOrder::kSize);
  EXPECT_EQ(answer.offsets, (std::vector<int64_t>{0, 8, 12}));
}

TEST(GreedyPackingTest, RandomPlacementsKeepEveryRule) {
  RandomShape shape{.items = 60, .moments = 40, .largest = 50, .alignments = true, .fixed = true};
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const Packing packing = RandomPacking(shape, seed);
    for (GreedyOrder order : kGreedyOrders) {
      const PackingAnswer answer = PackGreedy(packing, order);
      ASSERT_TRUE(IsPlacement(packing, answer.offsets, answer.height)) << seed << Name(order);
      ASSERT_GE(answer.height, answer.lower_bound);
    }
  }
}

TEST(GreedyPackingTest, PlacementsStayValidWhenNodesDropTheirNarrowGaps) {
  // Thousands of odd sizes that live at once, with every other one ending early, leave thousands of
  // gaps.
  Packing packing;
  for (int32_t i = 0; i < 3000; ++i) packing.items.push_back(Item(5 + i % 7, i % 2, 2 + i % 3));
  for (GreedyOrder order : kGreedyOrders) {
    const PackingAnswer answer = PackGreedy(packing, order);
    EXPECT_TRUE(IsPlacement(packing, answer.offsets, answer.height)) << Name(order);
  }
}

}  // namespace greedy_packing_test
}  // namespace plimsoll::plan
