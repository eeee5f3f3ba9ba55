#include "memory/pool/extent_space.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

namespace plimsoll::memory {
namespace extent_space_test {

constexpr int64_t kUnit = 512;
constexpr device::Address kBase = device::Address{1} << 40;

device::Address At(int64_t unit) { return kBase + static_cast<device::Address>(unit * kUnit); }

// Bytes in units of 512, and a map of which of them are free.
class ExtentSpaceTest : public testing::Test {
 protected:
  static constexpr int64_t kUnits = 4000;

  ExtentSpaceTest() : space_(table_), free_(kUnits, true) {
    space_.Add(kBase, kUnits * kUnit, kNoExtent, kNoExtent, kNoExtent);
  }
  int64_t UnitOf(ExtentIndex index) const {
    return static_cast<int64_t>(table_[index].start - kBase) / kUnit;
  }
  void Mark(int64_t first, int64_t units, bool free) {
    for (int64_t i = first; i < first + units; ++i) {
      ASSERT_NE(free_[static_cast<size_t>(i)], free) << i;
      free_[static_cast<size_t>(i)] = free;
    }
  }
  // The runs of free units, from start to length.
  std::map<int64_t, int64_t> Runs() const {
    std::map<int64_t, int64_t> runs;
    for (int64_t i = 0; i < kUnits; ++i) {
      if (!free_[static_cast<size_t>(i)]) continue;
      int64_t end = i;
      while (end < kUnits && free_[static_cast<size_t>(end)]) ++end;
      runs[i] = end - i;
      i = end;
    }
    return runs;
  }
  void ExpectSameRuns() const {
    std::map<int64_t, int64_t> told;
    space_.ForEachFree([&](ExtentIndex i) { told[UnitOf(i)] = table_[i].size / kUnit; });
    const std::map<int64_t, int64_t> runs = Runs();
    ASSERT_EQ(told, runs);
    int64_t largest = 0;
    for (const auto& [start, length] : runs) largest = std::max(largest, length);
    ASSERT_EQ(space_.Largest(), largest * kUnit);
  }

  ExtentTable table_;
  ExtentSpace space_;
  std::vector<bool> free_;
};

TEST_F(ExtentSpaceTest, FreeBytesAreOneExtentForEachRunWhateverIsTakenAndGiven) {
  std::mt19937 random(5);
  std::vector<ExtentIndex> taken;
  for (int step = 0; step < 3000; ++step) {
    if (taken.size() < 60 && random() % 2 == 0) {
      const auto units = static_cast<int64_t>(1 + random() % 150);
      ExtentIndex index = kNoExtent;
      if (random() % 3 == 0) {  // a part of a free extent, at its start, end or middle
        const ExtentIndex around = space_.Find(units * kUnit);
        if (around == kNoExtent) continue;
        const int64_t room = table_[around].size / kUnit - units;
        const int64_t before =
            random() % 3 == 0 ? room : static_cast<int64_t>(random() % 2) * room / 2;
        index = space_.TakeAt(around, At(UnitOf(around) + before), units * kUnit);
      } else {
        index = space_.Take(units * kUnit);
        if (index == kNoExtent) continue;
      }
      ASSERT_EQ(table_[index].size, units * kUnit);
      Mark(UnitOf(index), units, false);
      taken.push_back(index);
    } else if (!taken.empty()) {
      const size_t victim = random() % taken.size();
      const ExtentIndex index = taken[victim];
      Mark(UnitOf(index), table_[index].size / kUnit, true);
      space_.Give(index);
      taken[victim] = taken.back();
      taken.pop_back();
    }
    if (HasFatalFailure()) return;
    ExpectSameRuns();
    if (HasFatalFailure()) return;
  }
}

TEST_F(ExtentSpaceTest, ARunOfTheExactSizeIsTakenWhole) {
  const ExtentIndex low = space_.Take(10 * kUnit);
  const ExtentIndex hole = space_.Take(7 * kUnit);
  const ExtentIndex high = space_.Take(10 * kUnit);
  space_.Give(hole);
  EXPECT_EQ(space_.Take(7 * kUnit), hole);
  space_.Give(hole);
  EXPECT_EQ(table_[space_.Take(6 * kUnit)].start, At(10)) << "the tightest";
  EXPECT_EQ(table_[space_.Take(1 * kUnit)].start, At(16));
  space_.Give(low);
  space_.Give(high);
}

TEST_F(ExtentSpaceTest, WhatIsRemovedIsNeverGivenAgainAndItsNeighboursEndThere) {
  const ExtentIndex all = space_.Find(kUnits * kUnit);
  ASSERT_NE(all, kNoExtent);
  space_.Remove(all, At(100), 50 * kUnit);
  Mark(100, 50, false);
  ExpectSameRuns();
  EXPECT_EQ(space_.Take((kUnits - 150 + 1) * kUnit), kNoExtent);
  const ExtentIndex low = space_.Take(100 * kUnit);
  EXPECT_EQ(table_[low].start, kBase);
  EXPECT_EQ(space_.Give(low), low) << "it joins nothing over the gap";
  EXPECT_EQ(table_[low].size, 100 * kUnit);
}

TEST_F(ExtentSpaceTest, TheHighEndAndTheLowestRunCanBeAskedFor) {
  // Free: 100 units at 0, 50 at 200, the rest from 300 on.
  std::vector<ExtentIndex> taken;
  for (const int64_t units : {100, 100, 50, 50}) taken.push_back(space_.Take(units * kUnit));
  space_.Give(taken[0]);
  space_.Give(taken[2]);
  const ExtentIndex high = space_.TakeHigh(20 * kUnit);
  EXPECT_EQ(UnitOf(high), 230) << "of the tightest run";
  EXPECT_EQ(UnitOf(space_.TakeLowest(20 * kUnit)), 0) << "though another is tighter";
  EXPECT_EQ(UnitOf(space_.TakeHigh(30 * kUnit)), 200) << "all of it";
  EXPECT_EQ(UnitOf(space_.TakeLowest(90 * kUnit)), 300) << "the lowest is too small";
  EXPECT_EQ(space_.TakeLowest(kUnits * kUnit), kNoExtent);
  EXPECT_EQ(space_.TakeHigh(kUnits * kUnit), kNoExtent);
}

}  // namespace extent_space_test
}  // namespace plimsoll::memory
