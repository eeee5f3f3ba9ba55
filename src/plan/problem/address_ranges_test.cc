#include "plan/problem/address_ranges.h"

#include <gtest/gtest.h>

#include <random>
#include <utility>
#include <vector>

namespace plimsoll::plan {
namespace address_ranges_test {

using Pairs = std::vector<std::pair<int64_t, int64_t>>;

template <typename Height>
Pairs Listed(const AddressRanges<Height>& ranges) {
  Pairs pairs;
  for (const auto& range : ranges.ranges()) pairs.emplace_back(range.low, range.high);
  return pairs;
}

template <typename Height>
class AddressRangesTest : public ::testing::Test {};
using Heights = ::testing::Types<uint32_t, int64_t>;
TYPED_TEST_SUITE(AddressRangesTest, Heights);

TYPED_TEST(AddressRangesTest, RangesThatMeetOrTouchBecomeOne) {
  AddressRanges<TypeParam> ranges;
  EXPECT_TRUE(ranges.empty());
  EXPECT_TRUE(ranges.Add({10, 20}));
  EXPECT_TRUE(ranges.Add({40, 50}));
  EXPECT_TRUE(ranges.Add({0, 5}));
  EXPECT_EQ(Listed(ranges), (Pairs{{0, 5}, {10, 20}, {40, 50}}));
  EXPECT_TRUE(ranges.Add({20, 30}));
  EXPECT_TRUE(ranges.Add({28, 40}));
  EXPECT_EQ(Listed(ranges), (Pairs{{0, 5}, {10, 50}}));
}

TYPED_TEST(AddressRangesTest, WhatIsTakenAlreadyChangesNothing) {
  AddressRanges<TypeParam> ranges;
  ranges.Add({10, 20});
  EXPECT_FALSE(ranges.Add({12, 20}));
  EXPECT_FALSE(ranges.Add({10, 20}));
  EXPECT_TRUE(ranges.Add({12, 21}));
  EXPECT_EQ(Listed(ranges), (Pairs{{10, 21}}));
}

TYPED_TEST(AddressRangesTest, TheNarrowerHalfOfTheGapsIsGivenUp) {
  AddressRanges<TypeParam> ranges;
  for (const auto& [low, high] : Pairs{{0, 1}, {2, 3}, {13, 14}, {16, 17}, {40, 41}}) {
    ranges.Add({static_cast<TypeParam>(low), static_cast<TypeParam>(high)});
  }
  ranges.DropNarrowGaps();
  EXPECT_EQ(Listed(ranges), (Pairs{{0, 17}, {40, 41}}));
}

TYPED_TEST(AddressRangesTest, OneRangeHasNoGapToGiveUp) {
  AddressRanges<TypeParam> ranges;
  ranges.Add({3, 9});
  ranges.DropNarrowGaps();
  EXPECT_EQ(Listed(ranges), (Pairs{{3, 9}}));
}

TYPED_TEST(AddressRangesTest, MovedRangesAreWhole) {
  for (const int count : {0, 1, 9}) {
    AddressRanges<TypeParam> from;
    for (int i = 0; i < count; ++i) {
      from.Add({static_cast<TypeParam>(10 * i), static_cast<TypeParam>(10 * i + 3)});
    }
    const Pairs before = Listed(from);
    const AddressRanges<TypeParam> to(std::move(from));
    EXPECT_EQ(Listed(to), before);
  }
}

TYPED_TEST(AddressRangesTest, HoldsExactlyTheAddressesThatWereAdded) {
  constexpr int kAddresses = 300;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    std::mt19937_64 random(seed);
    std::vector<bool> taken(kAddresses);
    AddressRanges<TypeParam> ranges;
    for (int i = 0; i < 60; ++i) {
      const int low = static_cast<int>(random() % (kAddresses - 10));
      const int high = low + 1 + static_cast<int>(random() % 9);
      bool news = false;
      for (int address = low; address < high; ++address) {
        news |= !taken[address];
        taken[address] = true;
      }
      ASSERT_EQ(ranges.Add({static_cast<TypeParam>(low), static_cast<TypeParam>(high)}), news);
    }
    Pairs expected;
    for (int address = 0; address < kAddresses; ++address) {
      if (!taken[address]) continue;
      if (!expected.empty() && expected.back().second == address) {
        ++expected.back().second;
      } else {
        expected.emplace_back(address, address + 1);
      }
    }
    ASSERT_EQ(Listed(ranges), expected) << seed;
  }
}

}  // namespace address_ranges_test
}  // namespace plimsoll::plan
