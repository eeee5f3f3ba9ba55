#include "memory/pool/stitching.h"

#include <gtest/gtest.h>

namespace plimsoll::memory {
namespace stitching_test {

constexpr int64_t kMebibyte = int64_t{1} << 20;

device::Address At(int64_t mebibytes) {
  return static_cast<device::Address>(mebibytes * kMebibyte);
}

TEST(StitchSurveyTest, BothEndsOfOneChunkAreNotShownInOneRange) {
  ChunkMap map;
  map.Add(At(64), 8 * kMebibyte);
  // A block of 2 MiB lies in the middle of the chunk.
  const StitchSurvey survey(map, {{At(64), 3 * kMebibyte}, {At(69), 3 * kMebibyte}});

  const StitchPlan plan = survey.PlanStitch(6 * kMebibyte, true);

  EXPECT_FALSE(plan.found);
  EXPECT_EQ(plan.missing, 3 * kMebibyte);
  EXPECT_EQ(plan.chunks.size(), 1u);
}

TEST(StitchSurveyTest, TheEndOfOneChunkIsJoinedWithTheStartOfAnother) {
  ChunkMap map;
  const ChunkSlot lower = map.Add(At(64), 8 * kMebibyte);
  const ChunkSlot upper = map.Add(At(72), 8 * kMebibyte);
  // Each chunk is free at its start; only the upper one at its end as well.
  const StitchSurvey survey(map, {{At(64), 2 * kMebibyte},
                                  {At(69), 3 * kMebibyte - 512},
                                  {At(72), 3 * kMebibyte},
                                  {At(78), 2 * kMebibyte}});

  const StitchPlan plan = survey.PlanStitch(4 * kMebibyte, true);

  ASSERT_TRUE(plan.found);
  EXPECT_EQ(plan.chunks, (std::vector<ChunkSlot>{upper, lower}));
  EXPECT_EQ(plan.offset, 6 * kMebibyte);
  ASSERT_EQ(plan.pieces.size(), 2u);
  EXPECT_EQ(plan.pieces[0].start, At(78));
  EXPECT_EQ(plan.pieces[1].start, At(64));
}

TEST(ChunkMapTest, ChunksAreFoundByAnyOfTheirBytesAndSlotsAreUsedAgain) {
  ChunkMap map;
  const ChunkSlot high = map.Add(At(96), 8 * kMebibyte);
  const ChunkSlot low = map.Add(At(64), 8 * kMebibyte);
  const ChunkSlot middle = map.Add(At(72), 4 * kMebibyte);
  EXPECT_EQ(map.by_address, (std::vector<ChunkSlot>{low, middle, high}));
  EXPECT_EQ(map.PositionOf(At(64)), 0u);
  EXPECT_EQ(map.PositionOf(At(72) - 1), 0u);
  EXPECT_EQ(map.PositionOf(At(72)), 1u);
  EXPECT_EQ(map.PositionOf(At(96)), 2u);
  map.Remove(middle);
  EXPECT_EQ(map.by_address, (std::vector<ChunkSlot>{low, high}));
  EXPECT_EQ(map.Add(At(128), 2 * kMebibyte), middle);
  EXPECT_EQ(map.by_address, (std::vector<ChunkSlot>{low, high, middle}));
}

// Chunks of 8 MiB from 64 MiB on; all but the first lie side by side.
class StitchPlanTest : public testing::Test {
 protected:
  StitchPlanTest() {
    for (int64_t home : {64, 80, 88, 96, 104}) slots_.push_back(map_.Add(At(home), 8 * kMebibyte));
  }
  StitchPlan Plan(int64_t mebibytes, std::vector<StitchSurvey::Free> free, bool exhaustive = true) {
    return StitchSurvey(map_, std::move(free)).PlanStitch(mebibytes * kMebibyte, exhaustive);
  }
  static std::vector<int64_t> Starts(const StitchPlan& plan) {
    std::vector<int64_t> starts;
    for (const StitchPlan::Piece& piece : plan.pieces) {
      starts.push_back(static_cast<int64_t>(piece.start) / kMebibyte);
    }
    return starts;
  }

  ChunkMap map_;
  std::vector<ChunkSlot> slots_;
};

TEST_F(StitchPlanTest, WholeChunksServeLargestRunFirstAndTheTightestThatSuffices) {
  const std::vector<StitchSurvey::Free> free = {{At(64), 8 * kMebibyte}, {At(88), 16 * kMebibyte}};
  StitchPlan plan = Plan(24, free);
  ASSERT_TRUE(plan.found);
  EXPECT_EQ(Starts(plan), (std::vector<int64_t>{88, 64}));
  EXPECT_EQ(plan.chunks, (std::vector<ChunkSlot>{slots_[2], slots_[3], slots_[0]}));
  EXPECT_EQ(plan.offset, 0);
  plan = Plan(7, free);
  EXPECT_EQ(Starts(plan), (std::vector<int64_t>{64})) << "the smaller run suffices";
  EXPECT_EQ(plan.pieces[0].size, 7 * kMebibyte);
}

TEST_F(StitchPlanTest, WhatIsMissingIsTold) {
  const StitchPlan plan = Plan(30, {{At(64), 8 * kMebibyte}, {At(88), 16 * kMebibyte}});
  EXPECT_FALSE(plan.found);
  EXPECT_EQ(plan.missing, 6 * kMebibyte);
  EXPECT_EQ(plan.chunks.size(), 3u);
  EXPECT_EQ(Plan(5, {}).missing, 5 * kMebibyte);
}

TEST_F(StitchPlanTest, TheTightestStartOfAChunkCompletesAPlan) {
  const StitchPlan plan = Plan(11, {{At(64), 8 * kMebibyte},
                                    {At(80), 5 * kMebibyte},
                                    {At(96), 4 * kMebibyte},
                                    {At(104), 2 * kMebibyte}});
  ASSERT_TRUE(plan.found);
  EXPECT_EQ(Starts(plan), (std::vector<int64_t>{64, 96}));
  EXPECT_EQ(plan.pieces[1].size, 3 * kMebibyte);
}

TEST_F(StitchPlanTest, TheLargestEndOfAChunkComesFirst) {
  const StitchPlan plan =
      Plan(12, {{At(69), 3 * kMebibyte}, {At(91), 5 * kMebibyte}, {At(104), 8 * kMebibyte}});
  ASSERT_TRUE(plan.found);
  EXPECT_EQ(Starts(plan), (std::vector<int64_t>{91, 104}));
  EXPECT_EQ(plan.offset, 3 * kMebibyte);
  EXPECT_EQ(plan.chunks, (std::vector<ChunkSlot>{slots_[2], slots_[4]}));
}

TEST_F(StitchPlanTest, PiecesThatAreNotWorthAMappingAreLeftOutUnlessAllCount) {
  const std::vector<StitchSurvey::Free> free = {{At(72) - 4096, 4096}, {At(104), 8 * kMebibyte}};
  EXPECT_EQ(Starts(Plan(8, free, false)), (std::vector<int64_t>{104}));
  const StitchPlan all = Plan(8, free, true);
  ASSERT_TRUE(all.found);
  EXPECT_EQ(all.pieces.size(), 2u);
}

}  // namespace stitching_test
}  // namespace plimsoll::memory
