#include "memory/pool/trays.h"

#include <gtest/gtest.h>

#include <vector>

namespace plimsoll::memory {
namespace trays_test {

constexpr int64_t kMebibyte = int64_t{1} << 20;
constexpr int64_t kReserved = int64_t{480} * 32 * kMebibyte;  // a tray is then 32 MiB

// 256 MiB of free memory around the trays.
class TraysTest : public testing::Test {
 protected:
  TraysTest() : around_(table_), trays_(table_, around_) {
    around_.Add(device::Address{1} << 40, 256 * kMebibyte, kNoExtent, kNoExtent, kNoExtent);
  }
  ExtentIndex Take(int64_t mebibytes, int64_t reserved = kReserved) {
    return trays_.Take(mebibytes * kMebibyte, reserved);
  }
  int64_t Free(const ExtentSpace& space) const {
    int64_t free = 0;
    space.ForEachFree([&](ExtentIndex i) { free += table_[i].size; });
    return free / kMebibyte;
  }

  ExtentTable table_;
  ExtentSpace around_;
  Trays trays_;
};

TEST_F(TraysTest, MediumBlocksAreGatheredAndLargeOnesLieElsewhere) {
  const ExtentIndex first = Take(2);
  const ExtentIndex large = around_.Take(64 * kMebibyte);
  const ExtentIndex second = Take(8);
  EXPECT_EQ(table_[second].start, table_[first].start + 2 * kMebibyte);
  EXPECT_GE(table_[large].start, table_[first].start + 32 * kMebibyte);
  EXPECT_TRUE(trays_.Holds(table_[first]));
}

TEST_F(TraysTest, AnEmptyTrayGoesBack) {
  const ExtentIndex first = Take(2);
  const ExtentIndex second = Take(2);
  EXPECT_EQ(Free(around_), 256 - 32);
  trays_.Give(first);
  EXPECT_EQ(Free(around_), 256 - 32);
  trays_.Give(second);
  EXPECT_EQ(Free(around_), 256);
  EXPECT_EQ(around_.Largest(), 256 * kMebibyte);
  EXPECT_EQ(Free(trays_.inside()), 0);
}

TEST_F(TraysTest, ThereIsNoneWhileLittleIsReserved) {
  const ExtentIndex block = Take(2, kReserved / 16);
  EXPECT_EQ(table_[block].slab, kNoExtent);
  EXPECT_EQ(Free(around_), 256 - 2);
}

TEST_F(TraysTest, WithoutRoomForATrayABlockLiesAround) {
  const ExtentIndex most = around_.Take(250 * kMebibyte);
  const ExtentIndex block = Take(2);
  ASSERT_NE(block, kNoExtent);
  EXPECT_EQ(table_[block].slab, kNoExtent);
  EXPECT_EQ(Take(8), kNoExtent);
  around_.Give(most);
}

TEST_F(TraysTest, WhatIsFreeInDissolvedTraysJoinsWhatIsFreeAroundThem) {
  std::vector<ExtentIndex> blocks;
  for (int i = 0; i < 8; ++i) blocks.push_back(Take(8));  // two trays
  for (int i : {1, 2, 7}) trays_.Give(blocks[i]);

  trays_.Dissolve();
  EXPECT_EQ(Free(trays_.inside()), 0);
  EXPECT_EQ(Free(around_), 256 - 5 * 8);
  EXPECT_EQ(around_.Largest(), (256 - 7 * 8) * kMebibyte);  // the last block's bytes with the rest
  for (int i : {0, 3, 4, 5, 6}) {
    EXPECT_EQ(table_[blocks[i]].slab, kNoExtent);
    around_.Give(blocks[i]);
  }
  EXPECT_EQ(around_.Largest(), 256 * kMebibyte);
}

}  // namespace trays_test
}  // namespace plimsoll::memory
