#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/cpu/one_node.h"

namespace plimsoll::kernels::cpu {
namespace feature_scaling_test {

using testing::ElementsAre;
using testing::HasSubstr;
using Attributes = std::vector<std::pair<std::string, graph::Attribute>>;
using Doubles = std::vector<double>;

const HostTensor kRows = Numbers<float>({2, 2}, {1, -4, 0, 0});

OneNode Node(std::string op, Attributes attributes) {
  return {std::move(op), std::move(attributes), 1, "ai.onnx.ml", 3};
}

std::vector<float> Made(const OneNode& node, const HostTensor& input) {
  const auto made = node.Run({input});
  if (made.ok()) return ElementsOf<float>((*made)[0]);
  ADD_FAILURE() << made.error().Text();
  return {};
}

TEST(FeatureScalingTest, NormalizerDividesRowsAndLeavesZerosAlone) {
  EXPECT_THAT(Made(Node("Normalizer", {{"norm", std::string("L1")}}), kRows),
              ElementsAre(0.2f, -0.8f, 0, 0));
  EXPECT_THAT(Made(Node("Normalizer", {{"norm", std::string("MAX")}}), kRows),
              ElementsAre(1, -4, 0, 0));
}

TEST(FeatureScalingTest, ScalerTakesOneNumberForAllOrOneForEach) {
  EXPECT_THAT(Made(Node("Scaler", {{"offset", Doubles{1}}, {"scale", Doubles{2, 3}}}), kRows),
              ElementsAre(0, -15, -2, -3));
  EXPECT_THAT(Made(Node("Scaler", {}), Numbers<int64_t>({2}, {7, 8})), ElementsAre(7, 8));
  const auto refused = Node("Scaler", {{"scale", Doubles{1, 2, 3}}}).Run({kRows});
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().Text(), HasSubstr("3 numbers for 2 features"));
}

TEST(FeatureScalingTest, ImputerReplacesNanByNan) {
  const auto holes = Numbers<float>({2, 2}, {NAN, 1, 2, NAN});
  EXPECT_THAT(Made(Node("Imputer", {{"replaced_value_float", static_cast<double>(NAN)},
                                    {"imputed_value_floats", Doubles{5, 6}}}),
                   holes),
              ElementsAre(5, 1, 2, 6));
}

}  // namespace feature_scaling_test
}  // namespace plimsoll::kernels::cpu
