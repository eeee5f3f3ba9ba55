#include "kernels/cpu/vector/float_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace plimsoll::kernels::cpu {
namespace float_rows_test {

using testing::FloatNear;
using testing::Pointwise;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::vector<float> Waves(size_t count) {
  std::vector<float> row(count);
  for (size_t i = 0; i < count; ++i) row[i] = std::sin(static_cast<float>(3 * i + 1));
  return row;
}

// Every length around the widths of vectors, so that each way through a row's end is taken.
class FloatRowsTest : public testing::TestWithParam<size_t> {
 protected:
  const std::vector<float> x_ = Waves(GetParam());
  const int64_t count_ = static_cast<int64_t>(GetParam());

  template <typename Map>
  std::vector<float> Mapped(const Map& map) const {
    std::vector<float> y;
    for (const float x : x_) y.push_back(map(x));
    return y;
  }
};

TEST_P(FloatRowsTest, FoldsAsALoopWould) {
  const double sum = std::accumulate(x_.begin(), x_.end(), 0.0);
  double squares = 0, dot = 0, magnitudes = 0, product = 1;
  float largest = -kInfinity, smallest = kInfinity;
  for (const float x : x_) {
    squares += (x - 0.25) * (x - 0.25);
    dot += static_cast<double>(x) * x;
    magnitudes += std::abs(x);
    product *= x;
    largest = std::max(largest, x);
    smallest = std::min(smallest, x);
  }
  EXPECT_NEAR(RowSum(x_.data(), count_), sum, 1e-5);
  EXPECT_NEAR(RowSumOfSquares(x_.data(), count_, 0.25f), squares, 1e-4);
  EXPECT_NEAR(RowSumOfMagnitudes(x_.data(), count_), magnitudes, 1e-4);
  EXPECT_NEAR(RowProduct(x_.data(), count_), product, 1e-5 * std::abs(product));
  EXPECT_NEAR(RowDot(x_.data(), x_.data(), count_), dot, 1e-4);
  EXPECT_EQ(RowMax(x_.data(), count_), largest);
  EXPECT_EQ(RowMin(x_.data(), count_), smallest);
}

TEST_P(FloatRowsTest, MapsInPlaceAsALoopWould) {
  std::vector<float> y = x_;
  RowAffine(y.data(), count_, 2.0f, -1.0f, y.data());
  EXPECT_THAT(y, Pointwise(FloatNear(1e-6f), Mapped([](float x) { return 2 * x - 1; })));
  y = x_;
  RowSoftCap(y.data(), count_, 0.5f);
  EXPECT_THAT(
      y, Pointwise(FloatNear(1e-6f), Mapped([](float x) { return 0.5f * std::tanh(x / 0.5f); })));
  y = x_;
  RowNormalize(y.data(), count_, 0.5f, 3.0f, x_.data(), x_.data(), y.data());
  EXPECT_THAT(y,
              Pointwise(FloatNear(1e-5f), Mapped([](float x) { return (x - 0.5f) * 3 * x + x; })));
}

TEST_P(FloatRowsTest, SoftmaxSumsToOne) {
  const double sum = std::accumulate(x_.begin(), x_.end(), 0.0,
                                     [](double total, float x) { return total + std::exp(x); });
  EXPECT_NEAR(RowExpSum(x_.data(), count_, 1.0f), sum / std::exp(1.0), 1e-4);
  std::vector<float> y = x_;
  EXPECT_EQ(RowSoftmax(y.data(), count_, y.data()), RowMax(x_.data(), count_));
  EXPECT_THAT(y, Pointwise(FloatNear(1e-6f), Mapped([sum](float x) {
                             return static_cast<float>(std::exp(x) / sum);
                           })));
  y = x_;
  EXPECT_EQ(RowLogSoftmax(y.data(), count_, y.data()), RowMax(x_.data(), count_));
  EXPECT_THAT(y, Pointwise(FloatNear(1e-5f), Mapped([sum](float x) {
                             return static_cast<float>(x - std::log(sum));
                           })));
}

TEST_P(FloatRowsTest, StandardizesByRowsOfCentersAndDivisors) {
  const std::vector<float> centers = Mapped([](float x) { return x / 2; });
  const std::vector<float> divisors = Mapped([](float x) { return 2 + x; });
  std::vector<float> y(GetParam(), 0.25f);
  RowAddSquaredDistancesTo(x_.data(), centers.data(), count_, y.data());
  EXPECT_THAT(y, Pointwise(FloatNear(1e-6f), Mapped([](float x) { return 0.25f + x * x / 4; })));
  y = x_;
  RowStandardize(y.data(), centers.data(), divisors.data(), count_, y.data());
  EXPECT_THAT(y, Pointwise(FloatNear(1e-6f), Mapped([](float x) { return x / 2 / (2 + x); })));
}

TEST_P(FloatRowsTest, AddsARowToAnother) {
  std::vector<float> y(GetParam(), 0.25f);
  RowAddTo(x_.data(), count_, 2.0f, y.data());
  EXPECT_THAT(y, Pointwise(FloatNear(1e-6f), Mapped([](float x) { return 0.25f + 2 * x; })));
}

INSTANTIATE_TEST_SUITE_P(Lengths, FloatRowsTest,
                         testing::Values(0, 1, 3, 7, 8, 15, 31, 33, 64, 71));

TEST(FloatRowsOfNanTest, TheLargestOfNanIsNan) {
  for (size_t at = 0; at < 40; ++at) {
    std::vector<float> x = Waves(40);
    x[at] = std::nanf("");
    EXPECT_TRUE(std::isnan(RowMax(x.data(), 40))) << at;
    EXPECT_TRUE(std::isnan(RowMin(x.data(), 40))) << at;
  }
}

TEST(FloatRowsOfNanTest, SoftmaxShowsNanAndDropsWhatIsFarBelow) {
  std::vector<float> x = Waves(40);
  x[17] = std::nanf("");
  RowSoftmax(x.data(), 40, x.data());
  EXPECT_TRUE(std::isnan(x[0]) && std::isnan(x[39]));
  x = Waves(40);
  x[17] = std::nanf("");
  RowLogSoftmax(x.data(), 40, x.data());
  EXPECT_TRUE(std::isnan(x[0]) && std::isnan(x[39]));
  x = {0.0f, -kInfinity, -1000.0f};
  RowLogSoftmax(x.data(), 3, x.data());
  EXPECT_THAT(x, testing::ElementsAre(0, -kInfinity, -1000));
  x = {0.0f, -kInfinity, -1000.0f};
  RowSoftmax(x.data(), 3, x.data());
  EXPECT_THAT(x, testing::ElementsAre(1, 0, 0));
}

TEST(FloatRowsOfManyTest, ALongSumKeepsItsDigits) {
  const std::vector<float> tenths(1 << 20, 0.1f);
  EXPECT_NEAR(RowSum(tenths.data(), 1 << 20), 104857.6f, 0.5);
}

}  // namespace float_rows_test
}  // namespace plimsoll::kernels::cpu
