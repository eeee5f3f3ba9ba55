#include "plan/packing/infeasible_packing.h"

#include <gtest/gtest.h>

#include "plan/packing/packing_oracle_for_tests.h"

namespace plimsoll::plan {
namespace infeasible_packing_test {

constexpr PackingEffort kEnough{.steps = 1000000};

TEST(InfeasiblePackingTest, WhatFitsHasNoInfeasibleSet) {
  EXPECT_TRUE(FindInfeasibleSet({{{4, 0, 2}, {4, 2, 4}}}, 4, kEnough).items.empty());
}

TEST(InfeasiblePackingTest, OneItemThatIsTooLargeIsTheWholeReason) {
  const InfeasibleSet found = FindInfeasibleSet({{{4, 0, 2}, {9, 1, 3}, {4, 0, 3}}}, 8, kEnough);
  EXPECT_EQ(found.items, (std::vector<int32_t>{1}));
  EXPECT_TRUE(found.minimal);
}

TEST(InfeasiblePackingTest, OfACrowdedMomentTheLargestRemain) {
  const Packing packing{{{1, 0, 9}, {5, 3, 4}, {1, 2, 6}, {4, 3, 8}, {6, 5, 6}}};
  const InfeasibleSet found = FindInfeasibleSet(packing, 10, kEnough);
  EXPECT_EQ(found.items, (std::vector<int32_t>{2, 3, 4}));
  EXPECT_TRUE(found.minimal);
}

Packing Without(const Packing& packing, const std::vector<int32_t>& kept, int32_t left_out) {
  Packing fewer;
  for (int32_t index : kept) {
    if (index != left_out) fewer.items.push_back(packing.items[index]);
  }
  return fewer;
}

TEST(InfeasiblePackingTest, EverySetIsInfeasibleAndMinimal) {
  const RandomShape shape{
      .items = 6, .moments = 5, .largest = 4, .alignments = true, .fixed = true};
  for (const bool full : {false, true}) {
    for (uint64_t seed = 0; seed < 400; ++seed) {
      const Packing packing = full ? RefilledPacking(8, 8, seed) : RandomPacking(shape, seed);
      const int64_t capacity = LeastHeight(packing) - 1;
      const InfeasibleSet found = FindInfeasibleSet(packing, capacity, kEnough);
      ASSERT_FALSE(found.items.empty()) << seed;
      ASSERT_TRUE(found.minimal) << seed;
      ASSERT_GT(LeastHeight(Without(packing, found.items, -1)), capacity) << seed;
      for (int32_t item : found.items) {
        ASSERT_LE(LeastHeight(Without(packing, found.items, item)), capacity) << seed;
      }
    }
  }
}

TEST(InfeasiblePackingTest, WithoutEffortThereIsNoProof) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const Packing packing = RefilledPacking(8, 8, seed);
    const int64_t capacity = LeastHeight(packing) - 1;
    const InfeasibleSet found = FindInfeasibleSet(packing, capacity, {.steps = 0});
    if (found.items.empty()) return;
  }
  FAIL() << "no packing needed a search";
}

}  // namespace infeasible_packing_test
}  // namespace plimsoll::plan
