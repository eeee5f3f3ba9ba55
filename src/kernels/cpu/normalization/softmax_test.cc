#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/cpu/in_place_for_tests.h"

namespace plimsoll::kernels::cpu {
namespace softmax_test {

using testing::FloatNear;
using testing::Pointwise;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr int64_t kOuter = 2, kLength = 7, kInner = 300;

std::vector<float> Waves(int64_t count) {
  std::vector<float> x;
  for (int64_t i = 0; i < count; ++i) x.push_back(4 * std::sin(static_cast<float>(i)));
  return x;
}

// Lanes of `length`, `inner` apart, by the definition.
std::vector<float> SoftmaxOf(const std::vector<float>& x, int64_t length, int64_t inner,
                             bool logarithm) {
  std::vector<float> y(x.size());
  for (size_t lane = 0; lane < x.size() / static_cast<size_t>(length); ++lane) {
    const auto at = static_cast<int64_t>(lane);
    const int64_t first = at / inner * length * inner + at % inner;
    double sum = 0;
    for (int64_t i = 0; i < length; ++i) sum += std::exp(x[first + i * inner]);
    for (int64_t i = 0; i < length; ++i) {
      const double weight = std::exp(x[first + i * inner]) / sum;
      y[first + i * inner] = static_cast<float>(logarithm ? std::log(weight) : weight);
    }
  }
  return y;
}

TEST(SoftmaxKernelTest, AnyAxisWorksInPlace) {
  const std::vector<float> x = Waves(kOuter * kLength * kInner);
  for (const std::string op : {"Softmax", "LogSoftmax"}) {
    for (const int64_t axis : {0, 1, 2}) {
      const Dims dims = {kOuter, kLength, kInner};
      const int64_t inner = axis == 2 ? 1 : axis == 1 ? kInner : kLength * kInner;
      const auto made =
          RunInPlace({.op = op, .attributes = {{"axis", axis}}}, {Numbers<float>(dims, x)}, 0);
      ASSERT_TRUE(made.ok()) << made.error().Text();
      EXPECT_THAT(ElementsOf<float>(*made),
                  Pointwise(FloatNear(2e-5f), SoftmaxOf(x, dims[axis], inner, op == "LogSoftmax")));
    }
  }
}

TEST(SoftmaxKernelTest, BeforeVersion13AllLaterAxesAreOne) {
  const std::vector<float> x = Waves(24);
  const OneNode node{.op = "Softmax", .attributes = {}, .outputs = 1, .domain = "", .version = 11};
  const auto made = node.Run({Numbers<float>({2, 3, 4}, x)});
  ASSERT_TRUE(made.ok());
  EXPECT_THAT(ElementsOf<float>((*made)[0]),
              Pointwise(FloatNear(1e-6f), SoftmaxOf(x, 12, 1, false)));
}

TEST(SoftmaxKernelTest, WhatIsNotFiniteSpoilsItsLaneOnly) {
  for (const float odd : {kInfinity, std::nanf("")}) {
    for (const int64_t axis : {0, 1}) {
      const OneNode node{.op = "Softmax", .attributes = {{"axis", axis}}};
      const auto made = node.Run({Numbers<float>({2, 2}, {odd, 1, 2, 3})});
      ASSERT_TRUE(made.ok());
      const std::vector<float> y = ElementsOf<float>((*made)[0]);
      EXPECT_TRUE(std::isnan(y[0]) && std::isnan(y[axis == 0 ? 2 : 1]));
      EXPECT_FALSE(std::isnan(y[3]));
    }
  }
  const auto made = OneNode{"Softmax", {}}.Run({Numbers<float>({3}, {-kInfinity, 0, -kInfinity})});
  EXPECT_THAT(ElementsOf<float>((*made)[0]), testing::ElementsAre(0, 1, 0));
}

TEST(SoftmaxKernelTest, HardmaxMarksTheFirstLargest) {
  const auto made = OneNode{"Hardmax", {}}.Run({Numbers<float>({2, 3}, {1, 5, 5, 2, 1, 0})});
  EXPECT_THAT(ElementsOf<float>((*made)[0]), testing::ElementsAre(0, 1, 0, 1, 0, 0));
}

// Doubles go lane by lane.
TEST(SoftmaxKernelTest, HardmaxOfFloatsAlongAnyAxisIsThatOfDoubles) {
  const Dims dims = {3, 20, 300};
  std::vector<float> elements;
  for (int64_t i = 0; i < ElementCount(dims); ++i) {
    elements.push_back(i % 991 == 17 ? std::nanf("") : static_cast<float>(i * 37 % 101));
  }
  const HostTensor wide = Numbers(dims, std::vector<double>(elements.begin(), elements.end()));
  for (const int64_t axis : {0, 1, 2}) {
    const OneNode node{"Hardmax", {{"axis", axis}}};
    const auto expected = node.Run({wide});
    const auto made = RunInPlace(node, {Numbers(dims, elements)}, 0);
    ASSERT_TRUE(expected.ok() && made.ok());
    const auto doubles = ElementsOf<double>((*expected)[0]);
    EXPECT_EQ(ElementsOf<float>(*made), std::vector<float>(doubles.begin(), doubles.end()));
  }
}

TEST(SoftmaxKernelTest, NothingIsFineToo) {
  const auto made = OneNode{"Softmax", {}}.Run({Numbers<float>({2, 0}, {})});
  EXPECT_TRUE(made.ok());
}

}  // namespace softmax_test
}  // namespace plimsoll::kernels::cpu
