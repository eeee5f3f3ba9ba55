#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/cpu/one_node.h"

namespace plimsoll::kernels::cpu {
namespace quantization_test {

using graph::DataType;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<HostTensor> Made(const OneNode& node, const std::vector<HostTensor>& inputs) {
  auto made = node.Run(inputs);
  if (made.ok()) return *std::move(made);
  ADD_FAILURE() << made.error().Text();
  return std::vector<HostTensor>(node.outputs);
}

OneNode Node(std::string op,
             std::vector<std::pair<std::string, graph::Attribute>> attributes = {}) {
  return {std::move(op), std::move(attributes), 1, "", 24};
}

const HostTensor kGrid = Numbers<float>({2, 3}, {1, 2, 3, 4, 5, 6});

TEST(QuantizeTest, HalvesRoundToEvenAndWhatDoesNotFitSaturates) {
  const auto x = Numbers<float>({6}, {0.5f, 1.5f, 2.5f, -300, 300, NAN});
  const auto one = Numbers<float>({}, {1});
  EXPECT_THAT(
      ElementsOf<int8_t>(Made(Node("QuantizeLinear"), {x, one, Numbers<int8_t>({}, {0})})[0]),
      ElementsAre(0, 2, 2, -128, 127, -128));
  EXPECT_THAT(
      ElementsOf<uint8_t>(Made(Node("QuantizeLinear"), {x, one, Numbers<uint8_t>({}, {10})})[0]),
      ElementsAre(10, 12, 12, 0, 255, 0));
}

// 21 elements are no whole vectors.
TEST(QuantizeTest, ElementsOfTwoBytesRoundAndSaturateLikeThoseOfOne) {
  std::vector<float> numbers = {0.25f, 0.75f, 1.25f, -99999, 99999, NAN, 20000.3f};
  while (numbers.size() < 21) numbers.push_back(static_cast<float>(numbers.size()) - 12.75f);
  const auto x = Numbers<float>({21}, numbers);
  const auto half = Numbers<float>({}, {0.5f});
  const auto round = [&](size_t i, double zero, double low, double high) {
    const double moved = std::nearbyint(static_cast<double>(numbers[i]) * 2) + zero;
    return moved > low ? std::min(moved, high) : low;
  };
  const auto words =
      Made(Node("QuantizeLinear"), {x, half, Numbers<uint16_t>({}, {uint16_t{30000}})})[0];
  const auto signed_words =
      Made(Node("QuantizeLinear"), {x, half, Numbers<int16_t>({}, {int16_t{-7}})})[0];
  const auto back = ElementsOf<float>(
      Made(Node("DequantizeLinear"), {words, half, Numbers<uint16_t>({}, {uint16_t{30000}})})[0]);
  for (size_t i = 0; i < numbers.size(); ++i) {
    const double word = round(i, 30000, 0, 65535);
    EXPECT_EQ(ElementsOf<uint16_t>(words)[i], word) << numbers[i];
    EXPECT_EQ(ElementsOf<int16_t>(signed_words)[i], round(i, -7, -32768, 32767)) << numbers[i];
    EXPECT_EQ(back[i], (word - 30000) / 2) << numbers[i];
  }
}

TEST(QuantizeTest, AScaleStandsForTheTensorASliceOrABlock) {
  const auto quantize = [](std::vector<std::pair<std::string, graph::Attribute>> attributes,
                           const HostTensor& scale) {
    return ElementsOf<uint8_t>(
        Made(Node("QuantizeLinear", std::move(attributes)), {kGrid, scale})[0]);
  };
  EXPECT_THAT(quantize({}, Numbers<float>({}, {0.5f})), ElementsAre(2, 4, 6, 8, 10, 12));
  EXPECT_THAT(quantize({{"axis", int64_t{0}}}, Numbers<float>({2}, {1, 0.5f})),
              ElementsAre(1, 2, 3, 8, 10, 12));
  EXPECT_THAT(quantize({{"axis", int64_t{-1}}}, Numbers<float>({3}, {1, 0.5f, 0.25f})),
              ElementsAre(1, 4, 12, 4, 10, 24));
  // The last block of a row is shorter.
  EXPECT_THAT(quantize({{"axis", int64_t{1}}, {"block_size", int64_t{2}}},
                       Numbers<float>({2, 2}, {1, 0.5f, 0.25f, 0.125f})),
              ElementsAre(1, 2, 6, 16, 20, 48));
  EXPECT_THAT(quantize({{"axis", int64_t{0}}, {"block_size", int64_t{2}}},
                       Numbers<float>({1, 3}, {1, 0.5f, 0.25f})),
              ElementsAre(1, 4, 12, 4, 10, 24));
}

TEST(QuantizeTest, DequantizingUndoesIt) {
  const auto scale = Numbers<float>({3}, {1, 0.5f, 0.25f});
  const auto zero = Numbers<int8_t>({3}, {0, -3, 7});
  const auto small = Made(Node("QuantizeLinear"), {kGrid, scale, zero})[0];
  EXPECT_THAT(ElementsOf<float>(Made(Node("DequantizeLinear"), {small, scale, zero})[0]),
              ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST(QuantizeTest, ScalesThatFitNothingAreRefused) {
  const auto made = Node("QuantizeLinear", {{"axis", int64_t{1}}, {"block_size", int64_t{2}}})
                        .Run({kGrid, Numbers<float>({2, 3}, {1, 1, 1, 1, 1, 1})});
  ASSERT_FALSE(made.ok());
  EXPECT_THAT(made.error().Text(), HasSubstr("block_size"));
}

TEST(DynamicQuantizeTest, EqualAndMissingElementsHaveAScale) {
  OneNode node = Node("DynamicQuantizeLinear");
  node.outputs = 3;
  const auto zeros = Made(node, {Numbers<float>({2}, {0, 0})});
  EXPECT_THAT(ElementsOf<uint8_t>(zeros[0]), ElementsAre(0, 0));
  EXPECT_THAT(ElementsOf<float>(zeros[1]), ElementsAre(1));
  const auto nothing = Made(node, {Numbers<float>({0}, {})});
  EXPECT_THAT(ElementsOf<uint8_t>(nothing[2]), ElementsAre(0));
}

TEST(ByteTableTest, EveryByteOfAnyLengthIsTranslated) {
  std::vector<int8_t> table(256);
  for (size_t i = 0; i < table.size(); ++i) table[i] = static_cast<int8_t>(i * 77 + 5);
  for (const int64_t length : {0, 1, 63, 64, 65, 300, 70000}) {
    std::vector<uint8_t> bytes(static_cast<size_t>(length));
    std::vector<int8_t> expected;
    for (size_t i = 0; i < bytes.size(); ++i) {
      bytes[i] = static_cast<uint8_t>(i * 31 + i / 256);
      expected.push_back(table[bytes[i]]);
    }
    const OneNode node{"ByteTable", {}, 1, "plimsoll", 1};
    const auto made =
        Made(node, {Numbers<uint8_t>({length}, bytes), Numbers<int8_t>({256}, table)});
    EXPECT_EQ(ElementsOf<int8_t>(made[0]), expected) << length;
  }
}

// Of each of these a last bit, or the order of two roundings, decides; what is expected is what
// ONNX Runtime gives.
TEST(RoundingTest, ScalesAreMultipliedAndThenDividedInFloat32) {
  const auto byte = [](const Dims& dims) { return Numbers<uint8_t>(dims, {2}); };
  const HostTensor zero = Numbers<uint8_t>({}, {0});
  const auto scale = [](float number) { return Numbers<float>({}, {number}); };
  // 2 * 2 * 0.45 * 0.075 / 0.03 is 4.5, and rounds to 4 where it is worked out in doubles.
  const auto inputs = [&](const Dims& dims) {
    return std::vector<HostTensor>{byte(dims),    scale(0.45F), zero,         byte(dims),
                                   scale(0.075F), zero,         scale(0.03F), zero};
  };
  EXPECT_THAT(ElementsOf<uint8_t>(Made(Node("QLinearMatMul"), inputs({1, 1}))[0]), ElementsAre(5));
  EXPECT_THAT(ElementsOf<uint8_t>(Made(Node("QLinearConv"), inputs({1, 1, 1, 1}))[0]),
              ElementsAre(5));
}

// 51084 * 0.06994468 * 0.001958337 / 0.0394211 is 177.499995, and 177.5 where it is a float.
TEST(RoundingTest, TheNearestByteOfASumIsThatOfRealNumbers) {
  const HostTensor zero = Numbers<uint8_t>({}, {0});
  const auto byte_of = [&](const std::string& op, const std::string& domain, const Dims& a,
                           const Dims& b, int64_t nearest) {
    std::vector<HostTensor> inputs{Numbers<uint8_t>(a, {255, 147, 30}),
                                   Numbers<float>({}, {0.06994467973709106F}),
                                   zero,
                                   Numbers<int8_t>(b, {127, 127, 1}),
                                   Numbers<float>({}, {0.0019583371467888355F}),
                                   Numbers<int8_t>({}, {0})};
    if (op == "QGemm") inputs.emplace_back();
    inputs.push_back(Numbers<float>({}, {0.039421096444129944F}));
    inputs.push_back(zero);
    const OneNode node{op, {{"nearest_bytes", nearest}}, 1, domain, domain.empty() ? 24 : 1};
    return ElementsOf<uint8_t>(Made(node, inputs)[0]);
  };
  for (const int64_t nearest : {0, 1}) {
    const uint8_t expected = nearest == 1 ? 177 : 178;
    EXPECT_THAT(byte_of("QLinearConv", "", {1, 3, 1, 1}, {1, 3, 1, 1}, nearest),
                ElementsAre(expected));
    EXPECT_THAT(byte_of("QLinearMatMul", "", {1, 3}, {3, 1}, nearest), ElementsAre(expected));
    EXPECT_THAT(byte_of("QGemm", "com.microsoft", {1, 3}, {3, 1}, nearest), ElementsAre(expected));
  }
}

// 1 / 0.003921569 is a little less than 255 in float32, and ONNX Runtime takes whole steps: 254.
TEST(RoundingTest, ASoftmaxOverBytesHasAWholeNumberOfStepsInOne) {
  const OneNode node{"QLinearSoftmax", {{"opset", int64_t{13}}}, 1, "com.microsoft", 1};
  const auto made = Made(node, {Numbers<uint8_t>({1, 8}, {7, 200, 255, 31, 180, 254, 0, 90}),
                                Numbers<float>({}, {0.021F}), Numbers<uint8_t>({}, {3}),
                                Numbers<float>({}, {1 / 255.0F}), Numbers<uint8_t>({}, {0})});
  EXPECT_THAT(ElementsOf<uint8_t>(made[0]), ElementsAre(1, 31, 100, 1, 21, 97, 0, 3));
}

TEST(RoundingTest, SumsAndProductsTakeTheStepsOfFloatsWhereAsked) {
  constexpr float kScaleA = 0.3F, kScaleB = 0.2F, kScaleY = 0.2F;  // many halves
  std::vector<int8_t> left(65536), right(65536);
  for (size_t i = 0; i < left.size(); ++i) {
    left[i] = static_cast<int8_t>(i % 256);
    right[i] = static_cast<int8_t>(i / 256);
  }
  for (const std::string op : {"QLinearAdd", "QLinearMul"}) {
    const auto made = [&](int64_t steps) {
      return ElementsOf<int8_t>(Made(
          {op, {{"float_steps", steps}}, 1, "com.microsoft", 1},
          {Numbers<int8_t>({65536}, left), Numbers<float>({}, {kScaleA}), Numbers<int8_t>({}, {3}),
           Numbers<int8_t>({65536}, right), Numbers<float>({}, {kScaleB}),
           Numbers<int8_t>({}, {-7}), Numbers<float>({}, {kScaleY}), Numbers<int8_t>({}, {5})})[0]);
    };
    std::vector<int8_t> expected(left.size());
    for (size_t i = 0; i < left.size(); ++i) {
      const volatile float a = static_cast<float>(left[i] - 3) * kScaleA;
      const volatile float b = static_cast<float>(right[i] + 7) * kScaleB;
      const volatile float whole = op == "QLinearAdd" ? a + b : a * b;
      const volatile float steps = whole / kScaleY;
      expected[i] = static_cast<int8_t>(std::clamp(std::nearbyint(steps) + 5, -128.0F, 127.0F));
    }
    EXPECT_EQ(made(1), expected) << op;
    EXPECT_NE(made(0), expected) << op;
  }
}

TEST(RoundingTest, TheZeroPointIsAddedBeforeAHalfIsRounded) {
  const auto combined = [](const std::string& op, const HostTensor& a, const HostTensor& b) {
    const HostTensor zero = Numbers<int8_t>({}, {0});
    const auto made = Made({op, {}, 1, "com.microsoft", 1},
                           {a, Numbers<float>({}, {0.5F}), zero, b, Numbers<float>({}, {1}), zero,
                            Numbers<float>({}, {1}), Numbers<int8_t>({}, {1})});
    return ElementsOf<int8_t>(made[0]);
  };
  const HostTensor five = Numbers<int8_t>({1}, {5});
  const HostTensor row = Numbers<int8_t>({2}, {1, 3});
  // 0.5 * 5 * {1, 3} + 1 and 0.5 * 5 + {1, 3} + 1.
  EXPECT_THAT(combined("QLinearMul", five, row), ElementsAre(4, 8));
  EXPECT_THAT(combined("QLinearAdd", five, row), ElementsAre(4, 6));
}

// 57.499997, which is 57.500004 where the first operand is added first, as it is where the
// innermost axes that both operands have are 1.
TEST(RoundingTest, ASumOfOneNumberBeginsAsOnnxRuntimeBeginsIt) {
  const auto sum = [](const Dims& a, const Dims& b) {
    return ElementsOf<uint8_t>(
        Made({"QLinearAdd", {}, 1, "com.microsoft", 1},
             {Numbers<uint8_t>(a, {4, 4}), Numbers<float>({}, {0.021982288F}),
              Numbers<uint8_t>({}, {103}), Numbers<uint8_t>(b, {202}),
              Numbers<float>({}, {0.043964576F}), Numbers<uint8_t>({}, {118}),
              Numbers<float>({}, {0.026378747F})})[0]);
  };
  EXPECT_THAT(sum({2, 1}, {1}), ElementsAre(58, 58));
  EXPECT_THAT(sum({2, 1}, {}), ElementsAre(58, 58));
  EXPECT_THAT(sum({2, 1}, {1, 1}), ElementsAre(57, 57));
  EXPECT_THAT(sum({2}, {1}), ElementsAre(57, 57));
}

}  // namespace quantization_test
}  // namespace plimsoll::kernels::cpu
