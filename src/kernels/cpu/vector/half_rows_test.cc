#include "kernels/cpu/vector/half_rows.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>
#include <vector>

namespace plimsoll::kernels::cpu {
namespace half_rows_test {

// Every half there is, and floats around each: the conversions of the types, one by one.
TEST(HalfRowsTest, EveryHalfIsWidenedAndNarrowedAsTheTypeDoesIt) {
  std::vector<Float16> halves(0x10000);
  for (size_t i = 0; i < halves.size(); ++i) halves[i].bits = static_cast<uint16_t>(i);
  std::vector<float> wide(halves.size());
  WidenRow(halves.data(), static_cast<int64_t>(halves.size()), wide.data());
  for (size_t i = 0; i < halves.size(); ++i) {
    const float one = halves[i];
    if (std::isnan(one)) {
      ASSERT_TRUE(std::isnan(wide[i])) << i;
    } else {
      ASSERT_EQ(std::bit_cast<uint32_t>(wide[i]), std::bit_cast<uint32_t>(one)) << i;
    }
  }
  std::mt19937 random(3);
  std::vector<float> drawn(100'003);
  for (float& one : drawn) one = std::bit_cast<float>(static_cast<uint32_t>(random()));
  for (size_t i = 0; i + 3 < wide.size() && i + 3 < drawn.size(); i += 3) {
    drawn[i] = wide[i];
    drawn[i + 1] = (wide[i] + wide[i + 1]) / 2;  // a tie
    drawn[i + 2] = std::nextafter(drawn[i + 1], wide[i + 1]);
  }
  std::vector<Float16> narrow(drawn.size());
  NarrowRow(drawn.data(), static_cast<int64_t>(drawn.size()), narrow.data());
  for (size_t i = 0; i < drawn.size(); ++i) {
    if (std::isnan(drawn[i])) {
      ASSERT_TRUE(std::isnan(static_cast<float>(narrow[i]))) << i;
    } else {
      ASSERT_EQ(narrow[i].bits, Float16(drawn[i]).bits) << drawn[i];
    }
  }
}

TEST(HalfRowsTest, RowsOfEveryLengthStopWhereTheyEnd) {
  for (int64_t count = 0; count < 40; ++count) {
    const std::vector<float> from(static_cast<size_t>(count), 1.5F);
    std::vector<Float16> halves(static_cast<size_t>(count) + 1, Float16(7.0F));
    NarrowRow(from.data(), count, halves.data());
    std::vector<float> back(static_cast<size_t>(count) + 1, 9);
    WidenRow(halves.data(), count, back.data());
    EXPECT_EQ(static_cast<float>(halves.back()), 7) << count;
    EXPECT_EQ(back.back(), 9) << count;
    for (int64_t i = 0; i < count; ++i) ASSERT_EQ(back[static_cast<size_t>(i)], 1.5F);
  }
}

}  // namespace half_rows_test
}  // namespace plimsoll::kernels::cpu
