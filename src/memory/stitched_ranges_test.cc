#include "memory/stitched_ranges.h"

#include <gtest/gtest.h>

namespace plimsoll::memory {
namespace {

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

TEST_F(StitchedRangesTest, BytesThatAreApartInTheRangeDoNot) {
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

}  // namespace
}  // namespace plimsoll::memory
