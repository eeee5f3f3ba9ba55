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

}  // namespace quantization_test
}  // namespace plimsoll::kernels::cpu
