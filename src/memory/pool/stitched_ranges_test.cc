#include "memory/pool/stitched_ranges.h"

#include <gtest/gtest.h>

namespace plimsoll::memory {
namespace stitched_ranges_test {

constexpr int64_t kMebibyte = int64_t{1} << 20;

device::Address At(int64_t mebibytes) {
  return static_cast<device::Address>(mebibytes * kMebibyte);
}

// Three chunks of 8 MiB at 64, 96 and 128 MiB, seen side by side from 1024 MiB on.
class StitchedRangesTest : public testing::Test {
 protected:
  StitchedRangesTest() {
    for (int64_t home : {64, 96, 128}) slots_.push_back(map_.Add(At(home), 8 * kMebibyte));
    ranges_.Add(At(1024), slots_, map_);
  }
  bool Find(int64_t mebibytes, std::vector<StitchedRanges::FreeRun> free) {
    return ranges_.Find(mebibytes * kMebibyte, free, plan_);
  }

  ChunkMap map_;
  std::vector<ChunkSlot> slots_;
  StitchedRanges ranges_;
  StitchPlan plan_;
};

TEST_F(StitchedRangesTest, FreeBytesThatMeetInTheRangeServeOneRequest) {
  ASSERT_TRUE(Find(10, {{At(69), 3 * kMebibyte, 7}, {At(96), 16 * kMebibyte, 9}}));
  EXPECT_EQ(plan_.offset, 5 * kMebibyte);
  ASSERT_EQ(plan_.pieces.size(), 2u);
  EXPECT_EQ(plan_.pieces[0].start, At(69));
  EXPECT_EQ(plan_.pieces[0].extent, 7u);
  EXPECT_EQ(plan_.pieces[1].start, At(96));
  EXPECT_EQ(plan_.pieces[1].size, 7 * kMebibyte);
}

TEST_F(StitchedRangesTest, BytesThatAreSeparateInTheRangeDoNot) {
  EXPECT_FALSE(Find(10, {{At(64), 7 * kMebibyte, 7}, {At(96), 8 * kMebibyte, 9}}));
  EXPECT_FALSE(plan_.found);
}

TEST_F(StitchedRangesTest, TheOldestThatFitsServes) {
  const std::vector<StitchedRanges::FreeRun> all = {
      {At(64), 8 * kMebibyte, 1}, {At(96), 8 * kMebibyte, 2}, {At(128), 8 * kMebibyte, 3}};
  ranges_.Add(At(2048), slots_, map_);
  ASSERT_TRUE(Find(20, all));
  EXPECT_EQ(ranges_.At(plan_.range), At(1024));
}

TEST_F(StitchedRangesTest, TheOneNotUsedForLongestIsRetiredAndServesNoMore) {
  const std::vector<StitchedRanges::FreeRun> all = {
      {At(64), 8 * kMebibyte, 1}, {At(96), 8 * kMebibyte, 2}, {At(128), 8 * kMebibyte, 3}};
  const uint32_t younger = ranges_.Add(At(2048), slots_, map_);
  ranges_.Took(younger);

  EXPECT_EQ(ranges_.RetireOldest(), At(1024));
  EXPECT_EQ(ranges_.RetireOldest(), std::nullopt);  // the other one has a block
  ASSERT_TRUE(Find(18, all));
  EXPECT_EQ(ranges_.At(plan_.range), At(2048));
  ranges_.Remove(At(1024));
  EXPECT_EQ(ranges_.count(), 1u);
}

TEST_F(StitchedRangesTest, OfTwoIdleRangesTheOneUsedEarlierIsRetiredFirst) {
  const uint32_t younger = ranges_.Add(At(2048), slots_, map_);
  ranges_.Took(younger);
  ranges_.Gave(younger);
  ranges_.Took(0);
  ranges_.Gave(0);
  EXPECT_EQ(ranges_.RetireOldest(), At(2048));
  EXPECT_EQ(ranges_.RetireOldest(), At(1024));
  EXPECT_EQ(ranges_.RetireOldest(), std::nullopt);
  EXPECT_EQ(ranges_.count(), 2u) << "those that are retired are still there";
}

TEST_F(StitchedRangesTest, TheNumberOfARemovedRangeIsUsedAgainWithNothingOfItsPast) {
  ASSERT_EQ(ranges_.RetireOldest(), At(1024));
  ranges_.Remove(At(1024));
  EXPECT_EQ(ranges_.count(), 0u);
  EXPECT_EQ(ranges_.Add(At(4096), std::span(slots_).first(2), map_), 0u);
  EXPECT_EQ(ranges_.At(0), At(4096));
  EXPECT_FALSE(Find(17, {{At(64), 8 * kMebibyte, 1}, {At(96), 8 * kMebibyte, 2}}));
  ASSERT_TRUE(Find(16, {{At(64), 8 * kMebibyte, 1}, {At(96), 8 * kMebibyte, 2}}));
  EXPECT_EQ(plan_.range, 0u);
  EXPECT_EQ(plan_.missing, 0);
}

TEST_F(StitchedRangesTest, AdjacentChunksAreOneSegment) {
  ChunkMap map;
  const std::vector<ChunkSlot> pair = {map.Add(At(64), 8 * kMebibyte),
                                       map.Add(At(72), 8 * kMebibyte)};
  StitchedRanges ranges;
  ranges.Add(At(512), pair, map);
  const std::vector<StitchedRanges::FreeRun> free = {{At(70), 4 * kMebibyte, 5}};
  ASSERT_TRUE(ranges.Find(4 * kMebibyte, free, plan_));
  ASSERT_EQ(plan_.pieces.size(), 1u);
  EXPECT_EQ(plan_.offset, 6 * kMebibyte);
  EXPECT_FALSE(ranges.Find(4 * kMebibyte + 512, free, plan_));
}

}  // namespace stitched_ranges_test
}  // namespace plimsoll::memory
