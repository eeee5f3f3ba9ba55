#include "plimsoll/base/bytes.h"

#include <gtest/gtest.h>

#include "plimsoll/base/ids.h"

namespace plimsoll {
namespace bytes_test {

TEST(BytesTest, SumsAndProductsSaturateInsteadOfWrapping) {
  const Bytes huge(kSaturated - 1);
  EXPECT_TRUE((huge + Bytes(2)).saturated());
  EXPECT_TRUE((huge * 2).saturated());
  EXPECT_FALSE((Bytes(3) * 4).saturated());
  EXPECT_EQ(SaturatingMultiply(int64_t{1} << 62, -4), std::numeric_limits<int64_t>::min());
}

TEST(BytesTest, ASaturatedSizeStaysSaturatedWhenRounded) {
  EXPECT_TRUE(Bytes(kSaturated).RoundUp(512).saturated());
  EXPECT_TRUE(Bytes(kSaturated - 3).RoundUp(512).saturated());
}

TEST(BytesTest, RoundUpReachesTheNextMultiple) {
  EXPECT_EQ(Bytes(0).RoundUp(512), Bytes(0));
  EXPECT_EQ(Bytes(1).RoundUp(512), Bytes(512));
  EXPECT_EQ(Bytes(512).RoundUp(512), Bytes(512));
  EXPECT_EQ(Bytes(513).RoundUp(512), Bytes(1024));
  EXPECT_EQ(Bytes(7).RoundUp(3), Bytes(9));
}

TEST(OffsetTest, DistanceBetweenOffsetsIsBytes) {
  EXPECT_EQ(Offset(96) - Offset(32), Bytes(64));
  EXPECT_EQ(Offset(32) + Bytes(64), Offset(96));
}

TEST(BytesTest, ArithmeticStopsAtBothEnds) {
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
  EXPECT_EQ(SaturatingAdd(kLeast, -1), kLeast);
  EXPECT_EQ(SaturatingAdd(kSaturated, 1), kSaturated);
  EXPECT_EQ(SaturatingAdd(kSaturated, -1), kSaturated - 1);
  EXPECT_EQ(SaturatingMultiply(-4, int64_t{1} << 62), kLeast);
  EXPECT_EQ(SaturatingMultiply(-4, -(int64_t{1} << 62)), kSaturated);
  EXPECT_EQ(SaturatingMultiply(kSaturated, 0), 0);
  EXPECT_EQ(Bytes(3) - Bytes(5), Bytes(-2));
  Bytes sum(1);
  sum += Bytes(4);
  sum -= Bytes(2);
  EXPECT_EQ(sum, Bytes(3));
  EXPECT_EQ(KiB(3), Bytes(3 << 10));
  EXPECT_EQ(MiB(3), Bytes(3 << 20));
  EXPECT_EQ(GiB(3), Bytes(int64_t{3} << 30));
}

TEST(IdTest, ADefaultIdIsNoneAndEqualIndicesAreEqual) {
  using Thing = Id<struct ThingTag>;
  EXPECT_FALSE(Thing().valid());
  EXPECT_TRUE(Thing(0).valid());
  EXPECT_EQ(Thing(7).index(), 7u);
  EXPECT_EQ(Thing(7), Thing(7));
  EXPECT_LT(Thing(7), Thing(8));
  EXPECT_NE(Thing(7), Thing());
  EXPECT_EQ(std::hash<Thing>()(Thing(7)), std::hash<Thing>()(Thing(7)));
}

}  // namespace bytes_test
}  // namespace plimsoll
