#include "memory/stitching.h"

#include <gtest/gtest.h>

namespace plimsoll::memory {
namespace {

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

}  // namespace
}  // namespace plimsoll::memory
