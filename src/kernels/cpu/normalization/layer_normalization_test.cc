#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/cpu/in_place_for_tests.h"

namespace plimsoll::kernels::cpu {
namespace layer_normalization_test {

using testing::ElementsAre;
using testing::FloatNear;
using testing::Pointwise;
using Ints = std::vector<int64_t>;

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

// Doubles go element by element. Rows, columns in and beyond a group, runs apart, and more rows
// than are summed in one.
TEST(AxisNormalizationKernelTest, FloatsOverAnyAxesGiveWhatDoublesGive) {
  struct Sets {
    Dims dims;
    Ints axes;
  };
  for (const Sets& sets : std::vector<Sets>{{{5, 40}, {1}},
                                            {{70, 300}, {0}},
                                            {{3, 150, 7}, {1}},
                                            {{3, 50, 9}, {2}},
                                            {{200, 2}, {1}},
                                            {{4, 3, 5, 6}, {0, 2, 3}},
                                            {{4, 3, 5, 6}, {0, 2}},
                                            {{4, 3, 5, 6}, {1, 3}},
                                            {{4, 3, 5, 6}, {0, 1, 2, 3}}}) {
    std::vector<float> elements;
    for (int64_t i = 0; i < ElementCount(sets.dims); ++i) {
      elements.push_back(static_cast<float>(i * 37 % 101) / 16 - 2);
    }
    const HostTensor wide =
        Numbers(sets.dims, std::vector<double>(elements.begin(), elements.end()));
    std::vector<OneNode> nodes = {
        {.op = "MeanVarianceNormalization", .attributes = {{"axes", sets.axes}}, .outputs = 1}};
    for (const int64_t power : {1, 2}) {
      if (sets.axes.size() > 1) continue;
      nodes.push_back({.op = "LpNormalization",
                       .attributes = {{"axis", sets.axes[0]}, {"p", power}},
                       .outputs = 1});
    }
    for (const OneNode& node : nodes) {
      const auto expected = node.Run({wide});
      const auto made = RunInPlace(node, {Numbers(sets.dims, elements)}, 0);
      ASSERT_TRUE(expected.ok() && made.ok()) << node.op;
      const auto doubles = ElementsOf<double>((*expected)[0]);
      EXPECT_THAT(ElementsOf<float>(*made),
                  Pointwise(FloatNear(1e-5f), std::vector<float>(doubles.begin(), doubles.end())))
          << node.op;
    }
  }
}

TEST(AxisNormalizationKernelTest, NormsThatHaveNoReciprocalDivide) {
  for (const Dims& dims : {Dims{2, 1}, Dims{1, 2}}) {
    const OneNode node{.op = "LpNormalization",
                       .attributes = {{"axis", int64_t{dims[0] == 1}}, {"p", int64_t{1}}}};
    const auto made = node.Run({Numbers<float>(dims, {3e-40f, -1e-40f})});
    ASSERT_TRUE(made.ok());
    EXPECT_THAT(ElementsOf<float>((*made)[0]),
                Pointwise(FloatNear(1e-4f), std::vector<float>{0.75f, -0.25f}));
  }
}

}  // namespace layer_normalization_test
}  // namespace plimsoll::kernels::cpu
