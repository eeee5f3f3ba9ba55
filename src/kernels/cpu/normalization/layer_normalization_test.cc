#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/cpu/in_place_for_tests.h"

namespace plimsoll::kernels::cpu {
namespace layer_normalization_test {

using testing::ElementsAre;
using testing::FloatNear;
using testing::Pointwise;

constexpr int64_t kRows = 6, kLength = 300;

std::vector<float> Waves(int64_t count) {
  std::vector<float> x;
  for (int64_t i = 0; i < count; ++i) x.push_back(3 + std::sin(static_cast<float>(i)));
  return x;
}

std::vector<float> Normalized(const std::vector<float>& x, const std::vector<float>& scale) {
  std::vector<float> y;
  for (size_t row = 0; row < x.size() / kLength; ++row) {
    double mean = 0, squares = 0;
    for (size_t i = 0; i < kLength; ++i) mean += x[row * kLength + i] / kLength;
    for (size_t i = 0; i < kLength; ++i)
      squares += std::pow(x[row * kLength + i] - mean, 2) / kLength;
    for (size_t i = 0; i < kLength; ++i) {
      y.push_back(
          static_cast<float>((x[row * kLength + i] - mean) / std::sqrt(squares + 1e-5) * scale[i]));
    }
  }
  return y;
}

TEST(LayerNormalizationKernelTest, WorksInPlaceInEveryFloatType) {
  const std::vector<float> x = Waves(kRows * kLength);
  const std::vector<float> scale = Waves(kLength);
  const std::vector<float> expected = Normalized(x, scale);
  const auto check = [&]<typename T>(float tolerance) {
    const std::vector<T> narrow(x.begin(), x.end());
    const std::vector<T> narrow_scale(scale.begin(), scale.end());
    const auto made =
        RunInPlace({"LayerNormalization", {}},
                   {Numbers<T>({2, 3, kLength}, narrow), Numbers<T>({kLength}, narrow_scale)}, 0);
    ASSERT_TRUE(made.ok()) << made.error().Text();
    const std::vector<T> got = ElementsOf<T>(*made);
    EXPECT_THAT(std::vector<float>(got.begin(), got.end()),
                Pointwise(FloatNear(tolerance), expected));
  };
  check.operator()<float>(2e-5f);
  check.operator()<double>(2e-6f);
}

TEST(LayerNormalizationKernelTest, AScaleMayDifferFromRowToRow) {
  const OneNode node{"LayerNormalization", {}};
  const auto made =
      node.Run({Numbers<float>({2, 2}, {1, 3, 1, 3}), Numbers<float>({2, 1}, {1, 10})});
  ASSERT_TRUE(made.ok());
  EXPECT_THAT(ElementsOf<float>((*made)[0]),
              Pointwise(FloatNear(1e-3f), std::vector<float>{-1, 1, -10, 10}));
}

TEST(LayerNormalizationKernelTest, TellsWhatItNormalizedBy) {
  const OneNode node{.op = "LayerNormalization", .attributes = {{"epsilon", 0.0}}, .outputs = 3};
  const auto made = node.Run({Numbers<float>({1, 2}, {1, 5}), Numbers<float>({2}, {1, 1})});
  ASSERT_TRUE(made.ok());
  EXPECT_THAT(ElementsOf<float>((*made)[1]), ElementsAre(3));
  EXPECT_THAT(ElementsOf<float>((*made)[2]), ElementsAre(0.5));
}

TEST(RmsNormalizationKernelTest, TheResultHasTheScalesType) {
  const OneNode node{
      .op = "RMSNormalization", .attributes = {}, .outputs = 1, .domain = "", .version = 23};
  const auto made = node.Run({Numbers<double>({1, 2}, {3, 4}), Numbers<float>({2}, {1, 2})});
  ASSERT_TRUE(made.ok()) << made.error().Text();
  const double root = std::sqrt(12.5 + 1e-5);
  EXPECT_THAT(ElementsOf<float>((*made)[0]),
              Pointwise(FloatNear(1e-6f), std::vector<float>{static_cast<float>(3 / root),
                                                             static_cast<float>(8 / root)}));
}

TEST(GroupNormalizationKernelTest, FactorsAreThoseOfAGroupOrOfAChannel) {
  const HostTensor x = Numbers<float>({1, 4, 1}, {1, 3, 10, 30});
  for (const int version : {18, 21}) {
    const OneNode node{.op = "GroupNormalization",
                       .attributes = {{"num_groups", int64_t{2}}, {"epsilon", 0.0}},
                       .outputs = 1,
                       .domain = "",
                       .version = version};
    const auto factors =
        version == 18 ? Numbers<float>({2}, {1, 2}) : Numbers<float>({4}, {1, 1, 2, 2});
    const auto made = node.Run({x, factors, factors});
    ASSERT_TRUE(made.ok()) << made.error().Text();
    EXPECT_THAT(ElementsOf<float>((*made)[0]),
                Pointwise(FloatNear(1e-5f), std::vector<float>{0, 2, 0, 4}));
  }
}

TEST(LpNormalizationKernelTest, ALaneOfZerosStaysZero) {
  const auto made = RunInPlace({.op = "LpNormalization", .attributes = {{"axis", int64_t{0}}}},
                               {Numbers<float>({2, 2}, {3, 0, 4, 0})}, 0);
  ASSERT_TRUE(made.ok());
  EXPECT_THAT(ElementsOf<float>(*made),
              Pointwise(FloatNear(1e-6f), std::vector<float>{0.6f, 0, 0.8f, 0}));
}

}  // namespace layer_normalization_test
}  // namespace plimsoll::kernels::cpu
