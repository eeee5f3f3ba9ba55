#include "plimsoll/base/bytes.h"

#include <gtest/gtest.h>

namespace plimsoll {
namespace {

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

}  // namespace
}  // namespace plimsoll
