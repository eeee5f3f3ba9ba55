#include "memory/chunk_ladder.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace plimsoll::memory {
namespace {

Bytes Largest(Bytes need, Bytes reserved, bool calm, Bytes device_total = GiB(80)) {
  Bytes largest;
  Bytes total;
  for (Bytes size :
       ChunkLadder{MiB(2), device_total}.Sizes({.size = need, .calm = calm}, reserved)) {
    EXPECT_EQ(size.value() % MiB(2).value(), 0);
    largest = std::max(largest, size);
    total += size;
  }
  EXPECT_GE(total, need);
  return largest;
}

TEST(ChunkLadderTest, ASmallRequestGetsNoByteMore) {
  EXPECT_EQ(Largest(MiB(2), Bytes(0), true), MiB(2));
  EXPECT_EQ(Largest(MiB(3), Bytes(0), false), MiB(4));
}

TEST(ChunkLadderTest, ChunksGrowWithWhatIsReserved) {
  EXPECT_EQ(Largest(MiB(64), GiB(1), false), MiB(8));
  EXPECT_GT(Largest(MiB(64), GiB(12), false), MiB(16));
}

TEST(ChunkLadderTest, ALargeRequestAsksForCoarseChunksOnlyWhileTheProgramIsCalm) {
  EXPECT_EQ(Largest(GiB(1), Bytes(0), false), MiB(14));
  EXPECT_GT(Largest(GiB(1), Bytes(0), true), MiB(40));
}

TEST(ChunkLadderTest, OnASmallDeviceChunksAreFine) {
  EXPECT_EQ(Largest(GiB(1), Bytes(0), true, GiB(4)), MiB(4));
  EXPECT_EQ(Largest(MiB(512), Bytes(0), true, GiB(1)), MiB(2));
}

TEST(ChunkLadderTest, TheLastFifthOfADeviceIsCutIntoTheFinest) {
  EXPECT_EQ(Largest(GiB(1), GiB(66), false), MiB(2));
  EXPECT_GT(Largest(GiB(1), GiB(60), false), MiB(40));
}

}  // namespace
}  // namespace plimsoll::memory
