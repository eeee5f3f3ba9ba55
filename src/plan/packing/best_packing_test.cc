#include "plan/packing/best_packing.h"

#include <gtest/gtest.h>

#include "plan/packing/greedy_packing.h"
#include "plan/packing/packing_oracle_for_tests.h"

namespace plimsoll::plan {
namespace best_packing_test {

TEST(BestPackingTest, NothingIsOptimalAtOnce) {
  const PackingAnswer answer = PackBest({}, {.steps = 100});
  EXPECT_EQ(answer.height, 0);
  EXPECT_TRUE(answer.optimal);
  EXPECT_FALSE(answer.infeasible);
}

TEST(BestPackingTest, IsNeverWorseThanAnyGreedyOrder) {
  const RandomShape shapes[] = {{.items = 12, .moments = 10, .largest = 9},
                                {.items = 80, .moments = 60, .largest = 90, .alignments = true},
                                {.items = 40, .moments = 30, .largest = 20, .fixed = true}};
  for (const RandomShape& shape : shapes) {
    for (uint64_t seed = 0; seed < 40; ++seed) {
      const Packing packing = RandomPacking(shape, seed);
      for (int64_t steps : {0, 300, 3000}) {
        const PackingAnswer best = PackBest(packing, {.steps = steps});
        ASSERT_TRUE(IsPlacement(packing, best.offsets, best.height)) << seed;
        for (GreedyOrder order : kGreedyOrders) {
          ASSERT_LE(best.height, PackGreedy(packing, order).height) << seed << Name(order);
        }
      }
    }
  }
}

TEST(BestPackingTest, OfEqualGreedyPlacementsTheEarlierOrderIsKept) {
  const Packing packing{{{4, 0, 2}, {4, 1, 3}, {4, 2, 4}}};
  EXPECT_EQ(PackBest(packing, {.steps = 0}).offsets, PackGreedy(packing, kGreedyOrders[0]).offsets);
}

// Large enough to be repaired before it is searched.
Packing Large(uint64_t seed) {
  return RandomPacking({.items = 2100, .moments = 300, .largest = 1000}, seed);
}

TEST(BestPackingTest, RepairsLowerALargePacking) {
  const Packing packing = Large(1);
  const PackingAnswer greedy = PackBest(packing, {.steps = 0});
  const PackingAnswer repaired = PackBest(packing, {.steps = 30000});
  EXPECT_LT(repaired.height, greedy.height);
  // What this effort reaches; who makes it better enters that.
  EXPECT_EQ(greedy.height, 401786);
  EXPECT_EQ(repaired.height, 401493);
  EXPECT_EQ(repaired.lower_bound, 394476);
  EXPECT_EQ(repaired.steps, 30000);
  EXPECT_TRUE(IsPlacement(packing, repaired.offsets, repaired.height));
}

TEST(BestPackingTest, TheSameStepsGiveTheSameAnswer) {
  const PackingAnswer first = PackBest(Large(2), {.steps = 20000});
  const PackingAnswer second = PackBest(Large(2), {.steps = 20000});
  EXPECT_EQ(first.offsets, second.offsets);
  EXPECT_EQ(first.steps, second.steps);
}

TEST(BestPackingTest, ACapacityIsEnough) {
  const Packing packing = Large(3);
  const int64_t capacity = PackGreedy(packing, GreedyOrder::kSize).height;
  const PackingAnswer answer = PackBest(packing, {.steps = 1000000, .capacity = capacity});
  EXPECT_LE(answer.height, capacity);
  EXPECT_EQ(answer.steps, static_cast<int64_t>(packing.items.size()));
}

TEST(BestPackingTest, APlacementWithinTheShareAboveTheLowerBoundIsGoodEnough) {
  const Packing packing = Large(3);
  const PackingAnswer plain = PackGreedy(packing, kGreedyOrders[0]);
  const double share =
      static_cast<double>(plain.height) / static_cast<double>(plain.lower_bound) - 1;
  const auto steps = [&](double good_enough) {
    return PackBest(packing, {.steps = 20000, .good_enough = good_enough}).steps;
  };
  EXPECT_EQ(steps(share + 0.01), static_cast<int64_t>(packing.items.size()));
  EXPECT_GT(steps(0), static_cast<int64_t>(packing.items.size()));
  const Packing small = RandomPacking({.items = 60, .moments = 40, .largest = 50}, 5);
  EXPECT_LT(PackBest(small, {.steps = 20000, .good_enough = 1}).steps,
            PackBest(small, {.steps = 20000}).steps);
}

TEST(BestPackingTest, ACapacityBelowTheLowerBoundIsRefusedWithAPlacementAllTheSame) {
  const Packing packing = Large(4);
  const PackingAnswer answer = PackBest(packing, {.steps = 1000, .capacity = 10});
  EXPECT_TRUE(answer.infeasible);
  EXPECT_TRUE(IsPlacement(packing, answer.offsets, answer.height));
}

}  // namespace best_packing_test
}  // namespace plimsoll::plan
