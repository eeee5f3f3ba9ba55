#include "kernels/element_types.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace plimsoll::kernels {
namespace element_types_test {

using graph::DataType;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
const float kNan = std::nanf("");

constexpr DataType kByteFloats[] = {DataType::kFloat8E4M3FN, DataType::kFloat8E4M3FNUZ,
                                    DataType::kFloat8E5M2, DataType::kFloat8E5M2FNUZ};

TEST(ElementTypesTest, EveryHalfSurvivesTheWayThroughFloat) {
  for (int bits = 0; bits < 65536; ++bits) {
    Float16 half;
    half.bits = static_cast<uint16_t>(bits);
    Bfloat16 brain;
    brain.bits = static_cast<uint16_t>(bits);
    const Float16 half_again(static_cast<float>(half));
    const Bfloat16 brain_again(static_cast<float>(brain));
    EXPECT_TRUE(half_again.bits == bits || (std::isnan(half) && std::isnan(half_again))) << bits;
    EXPECT_TRUE(brain_again.bits == bits || (std::isnan(brain) && std::isnan(brain_again))) << bits;
  }
}

TEST(ElementTypesTest, HalvesRoundToTheNearestEven) {
  EXPECT_EQ(Float16(2049.0f), 2048.0f);
  EXPECT_EQ(Float16(2051.0f), 2052.0f);
  EXPECT_EQ(Float16(65519.0f), 65504.0f);
  EXPECT_EQ(Float16(65520.0f), kInfinity);
  EXPECT_EQ(Float16(0x1p-25f), 0.0f);
  EXPECT_EQ(Float16(0x1.8p-25f), 0x1p-24f);
  EXPECT_EQ(Bfloat16(257.0f), 256.0f);
  EXPECT_EQ(Bfloat16(259.0f), 260.0f);
}

TEST(ElementTypesTest, EverySmallFloatSurvivesTheWayThroughFloat) {
  for (const DataType type : kByteFloats) {
    for (int bits = 0; bits < 256; ++bits) {
      const float wide = SmallFloatToFloat(Describe(type), static_cast<uint8_t>(bits));
      const uint8_t back = FloatToSmallFloat(Describe(type), wide, false);
      if (std::isnan(wide)) {
        EXPECT_TRUE(std::isnan(SmallFloatToFloat(Describe(type), back)));
      } else {
        EXPECT_EQ(back, bits) << graph::Name(type);
      }
    }
  }
  for (int bits = 0; bits < 16; ++bits) {
    const SmallFloat& kind = Describe(DataType::kFloat4E2M1);
    const float wide = SmallFloatToFloat(kind, static_cast<uint8_t>(bits));
    EXPECT_EQ(FloatToSmallFloat(kind, wide, true), bits);
  }
}

// The rows of the standard's table of conversions, for the four types in its order.
TEST(ElementTypesTest, SmallFloatsSaturateOrOverflowAsTheStandardSays) {
  struct Row {
    float value;
    bool saturate;
    uint8_t bits[4];
  };
  const Row rows[] = {
      {0.0f, true, {0x00, 0x00, 0x00, 0x00}},       {-0.0f, true, {0x80, 0x00, 0x80, 0x00}},
      {kInfinity, true, {0x7e, 0x7f, 0x7b, 0x7f}},  {-kInfinity, true, {0xfe, 0xff, 0xfb, 0xff}},
      {1e6f, true, {0x7e, 0x7f, 0x7b, 0x7f}},       {-1e6f, true, {0xfe, 0xff, 0xfb, 0xff}},
      {kInfinity, false, {0x7f, 0x80, 0x7c, 0x80}}, {-kInfinity, false, {0xff, 0x80, 0xfc, 0x80}},
      {1e6f, false, {0x7f, 0x80, 0x7c, 0x80}},      {kNan, true, {0x7f, 0x80, 0x7e, 0x80}},
      {1.0f, true, {0x38, 0x40, 0x3c, 0x40}},       {-1.0f, false, {0xb8, 0xc0, 0xbc, 0xc0}},
  };
  for (const Row& row : rows) {
    for (size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(FloatToSmallFloat(Describe(kByteFloats[i]), row.value, row.saturate), row.bits[i])
          << row.value << " as " << graph::Name(kByteFloats[i]);
    }
  }
}

TEST(ElementTypesTest, SmallFloatsRoundToTheNearestEven) {
  const SmallFloat& kind = Describe(DataType::kFloat8E4M3FN);
  const auto rounded = [&](float value) {
    return SmallFloatToFloat(kind, FloatToSmallFloat(kind, value, true));
  };
  EXPECT_EQ(rounded(17.0f), 16.0f);  // 16 and 18 are neighbours
  EXPECT_EQ(rounded(19.0f), 20.0f);
  EXPECT_EQ(rounded(464.0f), 448.0f);
  EXPECT_EQ(rounded(0x1p-10f), 0.0f);  // half of the smallest
  EXPECT_EQ(rounded(0x1.8p-9f), 0x1p-8f);
  const SmallFloat& four_bits = Describe(DataType::kFloat4E2M1);
  EXPECT_EQ(FloatToSmallFloat(four_bits, 9.0f, true), 0x7);
  EXPECT_EQ(FloatToSmallFloat(four_bits, 0.25f, true), 0x0);
  EXPECT_EQ(FloatToSmallFloat(four_bits, kNan, true), 0x8);
}

TEST(ElementTypesTest, ScalesRoundAsAsked) {
  struct Row {
    float value;
    uint8_t up, down, nearest;
  };
  for (const Row& row :
       {Row{1.0f, 127, 127, 127}, Row{1.1f, 128, 127, 127}, Row{1.5f, 128, 127, 128},
        Row{0.25f, 125, 125, 125}, Row{0x1.8p-127f, 1, 0, 1}, Row{3e38f, 254, 254, 254}}) {
    EXPECT_EQ(FloatToScale(row.value, ScaleRounding::kUp, true), row.up) << row.value;
    EXPECT_EQ(FloatToScale(row.value, ScaleRounding::kDown, true), row.down) << row.value;
    EXPECT_EQ(FloatToScale(row.value, ScaleRounding::kNearest, true), row.nearest) << row.value;
  }
  for (const float beyond : {0.0f, 1e-40f, kInfinity, 3e38f}) {
    EXPECT_EQ(FloatToScale(beyond, ScaleRounding::kUp, false), 255) << beyond;
  }
  EXPECT_EQ(FloatToScale(0, ScaleRounding::kUp, true), 0);
  EXPECT_EQ(FloatToScale(kInfinity, ScaleRounding::kUp, true), 254);
  EXPECT_TRUE(std::isnan(ScaleToFloat(255)));
  EXPECT_EQ(ScaleToFloat(0), 0x1p-127f);
}

TEST(ElementTypesTest, DoublesAreRoundedOnce) {
  // Just above the middle of two halves: through the nearest float it would look like the middle.
  const double above = 1.0 + 0x1p-11 + 0x1p-40;
  EXPECT_EQ(Float16(static_cast<float>(above)), 1.0f);
  EXPECT_EQ(Float16(RoundedToOdd(above)), 1.0f + 0x1p-10f);
  uint16_t stored = 0;
  StoreDouble(DataType::kFloat16, &stored, 0, above);
  EXPECT_EQ(stored, Float16(1.0f + 0x1p-10f).bits);
  EXPECT_EQ(RoundedToOdd(0.5), 0.5f);
  EXPECT_EQ(RoundedToOdd(1e300), kInfinity);
  EXPECT_TRUE(std::isnan(RoundedToOdd(std::nan(""))));
}

TEST(ElementTypesTest, SubByteElementsShareBytes) {
  for (const DataType type :
       {DataType::kInt4, DataType::kUint4, DataType::kInt2, DataType::kUint2}) {
    std::vector<uint8_t> bytes(4, 0xff);
    for (int64_t i = 0; i < 7; ++i) StoreInteger(type, bytes.data(), i, i % 2);
    for (int64_t i = 0; i < 7; ++i) EXPECT_EQ(LoadInteger(type, bytes.data(), i), i % 2);
    ClearPadding(type, bytes.data(), 7);
    EXPECT_EQ(LoadInteger(type, bytes.data(), 7), 0);
    EXPECT_EQ(LoadInteger(type, bytes.data(), 6), 0);
    EXPECT_EQ(LoadInteger(type, bytes.data(), 5), 1);
  }
  uint8_t byte = 0;
  StoreInteger(DataType::kInt4, &byte, 1, -3);
  EXPECT_EQ(byte, 0xd0);
  EXPECT_EQ(LoadInteger(DataType::kInt4, &byte, 1), -3);
  EXPECT_EQ(LoadInteger(DataType::kUint4, &byte, 1), 13);
}

}  // namespace element_types_test
}  // namespace plimsoll::kernels
