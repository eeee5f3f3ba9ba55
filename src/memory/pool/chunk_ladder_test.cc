#include "memory/pool/chunk_ladder.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace plimsoll::memory {
namespace chunk_ladder_test {

Bytes Largest(Bytes need, Bytes reserved, bool steady, Bytes device_total = GiB(80)) {
  Bytes largest;
  Bytes total;
  for (Bytes size :
       ChunkLadder{MiB(2), device_total}.Sizes({.size = need, .steady = steady}, reserved)) {
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
  EXPECT_EQ(Largest(MiB(64), GiB(1), false), MiB(6));
  EXPECT_EQ(Largest(MiB(64), GiB(1), true), MiB(12)) << "what stays";
  EXPECT_GT(Largest(MiB(64), GiB(12), false), MiB(16));
}

TEST(ChunkLadderTest, ALargeRequestAsksForCoarseChunksOnlyWhileTheProgramIsSteady) {
  EXPECT_EQ(Largest(GiB(1), Bytes(0), false), MiB(12));
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

Bytes Total(const GrowRequest& request, Bytes reserved) {
  Bytes total;
  for (Bytes size : ChunkLadder{MiB(2), GiB(80)}.Sizes(request, reserved)) total += size;
  return total;
}

TEST(ChunkLadderTest, AGrowthAddsAThousandthOfWhatIsReservedUnlessMemoryIsScarce) {
  EXPECT_EQ(Total({.size = MiB(2)}, GiB(1)), MiB(2));
  EXPECT_EQ(Total({.size = MiB(2)}, GiB(16)), MiB(16));
  EXPECT_EQ(Total({.size = MiB(2)}, GiB(16) - MiB(1)), MiB(14)) << "rounded down";
  EXPECT_EQ(Total({.size = MiB(2), .steady = true}, GiB(16)), MiB(42)) << "what stays";
  EXPECT_EQ(Total({.size = MiB(2), .scarce = true}, GiB(16)), MiB(2));
  EXPECT_EQ(Total({.size = MiB(100)}, GiB(16)), MiB(100));
}

TEST(ChunkLadderTest, ChunksOfOneGrowthAreAsEqualAsPagesAllow) {
  const std::vector<Bytes> sizes = ChunkLadder{MiB(2), GiB(80)}.Sizes({.size = MiB(50)}, Bytes(0));
  EXPECT_EQ(sizes,
            (std::vector{MiB(6), MiB(6), MiB(6), MiB(6), MiB(6), MiB(6), MiB(6), MiB(4), MiB(4)}));
}

TEST(ChunkLadderTest, NoChunkIsLargerThanAGibibyte) {
  EXPECT_EQ(Largest(GiB(100), GiB(500), true, Bytes(0)), GiB(1));
  EXPECT_EQ(Largest(GiB(100), GiB(900), true, GiB(8 * 1024)), GiB(1));
}

}  // namespace chunk_ladder_test
}  // namespace plimsoll::memory
