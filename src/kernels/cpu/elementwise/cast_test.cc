#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/cpu/one_node.h"

namespace plimsoll::kernels::cpu {
namespace cast_test {

using graph::DataType;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

OneNode CastTo(DataType type) { return {"Cast", {{"to", static_cast<int64_t>(type)}}, 1, "", 24}; }

HostTensor Cast(const HostTensor& from, DataType type) {
  auto made = CastTo(type).Run({from});
  if (!made.ok()) {
    ADD_FAILURE() << made.error().Text();
    return HostTensor();
  }
  return std::move((*made)[0]);
}

TEST(CastTest, IntegersKeepTheirLowBits) {
  const auto wide = Numbers<int32_t>({4}, {200, -1, 65537, 0});
  EXPECT_THAT(ElementsOf<int8_t>(Cast(wide, DataType::kInt8)), ElementsAre(-56, -1, 1, 0));
  EXPECT_THAT(ElementsOf<uint16_t>(Cast(wide, DataType::kUint16)), ElementsAre(200, 65535, 1, 0));
  EXPECT_THAT(ElementsOf<bool>(Cast(wide, DataType::kBool)), ElementsAre(true, true, true, false));
}

TEST(CastTest, FloatsLoseTheirFractionAndNeverTrap) {
  const auto floats = Numbers<float>({5}, {1.9f, -1.9f, std::nanf(""), kInfinity, -1e30f});
  constexpr int64_t kLow = std::numeric_limits<int64_t>::min();
  EXPECT_THAT(ElementsOf<int64_t>(Cast(floats, DataType::kInt64)),
              ElementsAre(1, -1, kLow, kLow, kLow));
  EXPECT_THAT(ElementsOf<uint8_t>(Cast(floats, DataType::kUint8)), ElementsAre(1, 255, 0, 0, 0));
  EXPECT_THAT(ElementsOf<bool>(Cast(floats, DataType::kBool)),
              ElementsAre(true, true, true, true, true));
}

TEST(CastTest, TheLargestUnsignedIntegersStayWhatTheyAre) {
  constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();
  const auto wide = Numbers<uint64_t>({2}, {kMost, uint64_t{1} << 63});
  EXPECT_THAT(ElementsOf<double>(Cast(wide, DataType::kFloat64)), ElementsAre(0x1p64, 0x1p63));
  EXPECT_THAT(ElementsOf<float>(Cast(wide, DataType::kFloat32)), ElementsAre(0x1p64f, 0x1p63f));
  const auto back = Cast(Numbers<double>({1}, {0x1p63}), DataType::kUint64);
  EXPECT_THAT(ElementsOf<uint64_t>(back), ElementsAre(uint64_t{1} << 63));
  EXPECT_THAT(ElementsOf<std::string>(Cast(wide, DataType::kString)),
              ElementsAre("18446744073709551615", "9223372036854775808"));
}

// One at a time no vector takes part.
template <typename From, typename To>
void ExpectRowsAsElements(const std::vector<From>& elements, DataType type) {
  const auto made =
      ElementsOf<To>(Cast(Numbers<From>({static_cast<int64_t>(elements.size())}, elements), type));
  ASSERT_EQ(made.size(), elements.size());
  for (size_t i = 0; i < elements.size(); ++i) {
    EXPECT_EQ(made[i], ElementsOf<To>(Cast(Numbers<From>({1}, {elements[i]}), type))[0])
        << graph::Name(type) << " of " << +elements[i];
  }
}

TEST(CastTest, LongRowsAreCastAsSingleElements) {
  std::vector<float> floats;
  std::vector<double> doubles;
  std::vector<int32_t> ints;
  std::vector<int64_t> longs;
  std::vector<uint8_t> bytes;
  for (int i = 0; i < 90; ++i) {
    floats.push_back(static_cast<float>(i * 37 % 91 - 45) * 0.37f);
    doubles.push_back(1.0 / (i + 1));
    ints.push_back((i - 45) * 47000001);
    longs.push_back((i - 45) * int64_t{7000001});
    bytes.push_back(static_cast<uint8_t>(i * 7));
  }
  // In vectors of their own, and among others.
  for (const size_t at : {size_t{3}, size_t{40}, size_t{89}}) {
    floats[at] = at == 40 ? std::nanf("") : 3e9f;
    floats[at - 1] = -1e30f;
    longs[at] = (int64_t{1} << 60) + 1;
  }
  floats[20] = -5e9f;  // too large for 32 bits, not for 64
  ExpectRowsAsElements<float, int32_t>(floats, DataType::kInt32);
  ExpectRowsAsElements<float, int64_t>(floats, DataType::kInt64);
  ExpectRowsAsElements<float, uint8_t>(floats, DataType::kUint8);
  ExpectRowsAsElements<float, uint8_t>(floats, DataType::kBool);
  ExpectRowsAsElements<double, float>(doubles, DataType::kFloat32);
  ExpectRowsAsElements<int32_t, float>(ints, DataType::kFloat32);
  ExpectRowsAsElements<int32_t, int64_t>(ints, DataType::kInt64);
  ExpectRowsAsElements<int64_t, int32_t>(longs, DataType::kInt32);
  ExpectRowsAsElements<int64_t, float>(longs, DataType::kFloat32);
  ExpectRowsAsElements<uint8_t, float>(bytes, DataType::kFloat32);
  ExpectRowsAsElements<uint8_t, int32_t>(bytes, DataType::kInt32);
  ExpectRowsAsElements<uint8_t, int64_t>(bytes, DataType::kInt64);
  longs[7] = 0;
  longs[8] = int64_t{1} << 32;
  ExpectRowsAsElements<int64_t, uint8_t>(longs, DataType::kBool);
  floats[40] = 0;
  ExpectRowsAsElements<float, double>(floats, DataType::kFloat64);
}

// Through every type that holds small whole numbers, and back.
TEST(CastTest, SmallNumbersSurviveEveryType) {
  const auto numbers = Numbers<float>({5}, {0, 1, 1, 0, 1});
  for (int type = 1; type <= 26; ++type) {
    const auto data_type = static_cast<DataType>(type);
    const bool is_complex = data_type == DataType::kComplex64 || data_type == DataType::kComplex128;
    if (is_complex || data_type == DataType::kFloat8E8M0) continue;
    const HostTensor there = Cast(numbers, data_type);
    EXPECT_THAT(ElementsOf<float>(Cast(there, DataType::kFloat32)), ElementsAre(0, 1, 1, 0, 1))
        << graph::Name(data_type);
    EXPECT_THAT(ElementsOf<int16_t>(Cast(there, DataType::kInt16)), ElementsAre(0, 1, 1, 0, 1))
        << graph::Name(data_type);
  }
}

TEST(CastTest, SubByteElementsEndInClearedBits) {
  const HostTensor made = Cast(Numbers<float>({3}, {-1, 7, -8}), DataType::kInt4);
  EXPECT_EQ(static_cast<const uint8_t*>(made.data.get())[0], 0x7f);
  EXPECT_EQ(static_cast<const uint8_t*>(made.data.get())[1], 0x08);
}

TEST(CastTest, NumbersBecomeTheirShortestText) {
  const auto floats = Numbers<float>({5}, {0.1f, -314.15926f, kInfinity, -kInfinity, NAN});
  EXPECT_THAT(ElementsOf<std::string>(Cast(floats, DataType::kString)),
              ElementsAre("0.1", "-314.15927", "INF", "-INF", "NaN"));
  EXPECT_THAT(ElementsOf<std::string>(Cast(Numbers<bool>({2}, {true, false}), DataType::kString)),
              ElementsAre("1", "0"));
}

TEST(CastTest, TextBecomesNumbersInEveryForm) {
  const auto text = Strings({6}, {"3.14", "1e-5", "1E8", "+INF", "-inf", "+7"});
  EXPECT_THAT(ElementsOf<float>(Cast(text, DataType::kFloat32)),
              ElementsAre(3.14f, 1e-5f, 1e8f, kInfinity, -kInfinity, 7));
  EXPECT_TRUE(std::isnan(ElementsOf<float>(Cast(Strings({1}, {"nan"}), DataType::kFloat32))[0]));
  EXPECT_THAT(
      ElementsOf<int64_t>(Cast(Strings({2}, {"9223372036854775807", "100.5"}), DataType::kInt64)),
      ElementsAre(std::numeric_limits<int64_t>::max(), 100));
}

TEST(CastTest, TextThatIsNoNumberFailsTheRunAndIsShown) {
  for (const std::string text : {"hello", "", "1x", "++1"}) {
    const auto made = CastTo(DataType::kFloat32).Run({Strings({2}, {"1", text})});
    ASSERT_FALSE(made.ok()) << text;
    EXPECT_EQ(made.error().code, "kernel.input");
    EXPECT_THAT(made.error().Text(), HasSubstr("element 1"));
    EXPECT_THAT(made.error().Text(), HasSubstr("'" + text + "' is no number"));
  }
}

TEST(CastTest, RoundModesOfScalesAreChecked) {
  OneNode node = CastTo(DataType::kFloat8E8M0);
  node.attributes.push_back({"round_mode", std::string("sideways")});
  const auto made = node.Run({Numbers<float>({1}, {1})});
  ASSERT_FALSE(made.ok());
  EXPECT_THAT(made.error().Text(), HasSubstr("round_mode"));
}

}  // namespace cast_test
}  // namespace plimsoll::kernels::cpu
