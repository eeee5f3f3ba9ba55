#include "graph/tensor.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "graph/content.h"

namespace plimsoll::graph {
namespace tensor_test {

ConstantTensor Make(DataType type, std::vector<int64_t> dims, std::span<const uint8_t> bytes) {
  ConstantTensor tensor;
  tensor.type = type;
  tensor.dims = std::move(dims);
  tensor.bytes = std::as_bytes(bytes);
  return tensor;
}

TEST(TensorTest, SubByteElementsAreReadLowBitsFirst) {
  const std::array<uint8_t, 2> bytes = {0xF1, 0x08};
  EXPECT_EQ(Make(DataType::kInt4, {3}, bytes).Integers(), (std::vector<int64_t>{1, -1, -8}));
  EXPECT_EQ(Make(DataType::kUint4, {3}, bytes).Integers(), (std::vector<int64_t>{1, 15, 8}));
  const std::array<uint8_t, 1> quarter = {0b11100100};
  EXPECT_EQ(Make(DataType::kUint2, {4}, quarter).Integers(), (std::vector<int64_t>{0, 1, 2, 3}));
  EXPECT_EQ(Make(DataType::kInt2, {4}, quarter).Integers(), (std::vector<int64_t>{0, 1, -2, -1}));
}

TEST(TensorTest, IntegersOfEveryWidthKeepTheirSign) {
  const std::array<uint8_t, 8> bytes = {0xFE, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF};
  for (const DataType type :
       {DataType::kInt8, DataType::kInt16, DataType::kInt32, DataType::kInt64}) {
    const auto size = static_cast<size_t>(Bits(type) / 8);
    EXPECT_EQ(Make(type, {1}, std::span(bytes).first(size)).Integers(), std::vector<int64_t>{-2})
        << Name(type);
    EXPECT_EQ(Make(type, {1}, std::span(bytes).first(size)).Doubles(), std::vector<double>{-2})
        << Name(type);
  }
  EXPECT_EQ(Make(DataType::kUint8, {1}, std::span(bytes).first(1)).Integers(),
            std::vector<int64_t>{254});
  EXPECT_EQ(Make(DataType::kUint16, {1}, std::span(bytes).first(2)).Integers(),
            std::vector<int64_t>{65534});
  EXPECT_EQ(Make(DataType::kUint32, {1}, std::span(bytes).first(4)).Integers(),
            std::vector<int64_t>{4294967294});
}

TEST(TensorTest, SeveralElementsAreReadInOrder) {
  const std::array<uint8_t, 8> bytes = {1, 0, 2, 0, 3, 0, 4, 0};
  EXPECT_EQ(Make(DataType::kInt16, {2, 2}, bytes).Integers(), (std::vector<int64_t>{1, 2, 3, 4}));
  EXPECT_EQ(Make(DataType::kInt16, {2, 2}, bytes).ElementCount(), 4);
  EXPECT_EQ(Make(DataType::kInt16, {2, 2}, bytes).Size(), Bytes(8));
  EXPECT_EQ(Make(DataType::kInt16, {}, bytes).ElementCount(), 1);
  EXPECT_EQ(Make(DataType::kInt16, {3, 0}, {}).ElementCount(), 0);
}

TEST(TensorTest, HalvesAreWidened) {
  const std::array<uint8_t, 8> bytes = {0x00, 0x3C, 0x00, 0xC0, 0x01, 0x00, 0x00, 0x7C};
  const std::vector<double> doubles = Make(DataType::kFloat16, {4}, bytes).Doubles();
  EXPECT_EQ(doubles, (std::vector<double>{1.0, -2.0, std::ldexp(1.0, -24), INFINITY}));
  const std::array<uint8_t, 2> brain = {0x80, 0x3F};
  EXPECT_EQ(Make(DataType::kBfloat16, {}, brain).Doubles(), std::vector<double>{1.0});
}

TEST(TensorTest, DataThatIsMissingOrShortGivesNothing) {
  const std::array<uint8_t, 4> bytes = {};
  EXPECT_TRUE(Make(DataType::kInt64, {1}, bytes).Integers().empty());
  ConstantTensor absent = Make(DataType::kInt8, {4}, bytes);
  absent.missing = true;
  EXPECT_TRUE(absent.Integers().empty());
  EXPECT_FALSE(ContentOf(absent).has_value());
}

TEST(TensorTest, SizesSaturate) {
  const ConstantTensor huge = Make(DataType::kFloat32, {int64_t{1} << 40, int64_t{1} << 40}, {});
  EXPECT_TRUE(huge.Size().saturated());
  EXPECT_FALSE(ContentOf(huge).has_value());
  EXPECT_EQ(SizeOf(DataType::kInt4, 3), Bytes(2));
  EXPECT_EQ(SizeOf(DataType::kUint2, 5), Bytes(2));
}

TEST(DataTypeTest, EveryTypeOfTheStandardHasNameAndWidth) {
  for (int64_t number = 1; number <= 26; ++number) {
    const auto type = DataTypeFromOnnx(number);
    ASSERT_TRUE(type.has_value());
    EXPECT_EQ(DataTypeFromName(Name(*type)), type);
    EXPECT_EQ(Bits(*type) == 0, *type == DataType::kString);
  }
  EXPECT_FALSE(DataTypeFromOnnx(27).has_value());
  EXPECT_FALSE(DataTypeFromOnnx(-1).has_value());
}

}  // namespace tensor_test
}  // namespace plimsoll::graph
