#include "kernels/cpu/vector/normalized_rows.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <vector>

#include "hwy/targets.h"

namespace plimsoll::kernels::cpu {
namespace normalized_rows_test {

// Whether there are vectors of eight floats, and products that become one step with a sum.
bool HasEights() { return (hwy::SupportedTargets() & (HWY_AVX3 | HWY_AVX2)) != 0; }

std::vector<float> Numbers(int64_t count, float factor) {
  std::vector<float> numbers;
  for (int64_t i = 0; i < count; ++i) {
    numbers.push_back(1.25F + 3 * std::sin(static_cast<float>(i) * factor));
  }
  return numbers;
}

// Plain loops, in which the compiler fuses nothing.
struct Expected {
  std::vector<float> y;

  Expected(const RowNormalization& of, const std::vector<float>& x) : y(x.size()) {
    const auto length = static_cast<size_t>(of.length);
    for (size_t row = 0; row < x.size() / length; ++row) {
      const bool running = of.centred && (of.running_means || length < 8);
      running ? Running(of, &x[row * length], &y[row * length])
              : InEights(of, &x[row * length], &y[row * length]);
    }
  }

  static void InEights(const RowNormalization& of, const float* x, float* y) {
    double sum = 0;
    for (int64_t i = 0; i < of.length; ++i) sum += x[i];
    const float mean = of.centred ? static_cast<float>(sum / static_cast<double>(of.length)) : 0;
    std::array<float, 8> lanes{};
    const int64_t whole = of.length / 8 * 8;
    for (int64_t i = 0; i < whole; ++i) {
      float& lane = lanes[static_cast<size_t>(i % 8)];
      lane = std::fma(x[i] - mean, x[i] - mean, lane);
    }
    float squares = ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) +
                    ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
    for (int64_t i = whole; i < of.length; ++i) {
      squares = std::fma(x[i] - mean, x[i] - mean, squares);
    }
    const float factor = 1.0F / std::sqrt(squares / static_cast<float>(of.length) + of.epsilon);
    for (int64_t i = 0; i < of.length; ++i) {
      const float v = (x[i] - mean) * factor;
      y[i] = of.bias != nullptr ? std::fma(v, of.scale[i], of.bias[i]) : v * of.scale[i];
    }
  }

  static void Running(const RowNormalization& of, const float* x, float* y) {
    float mean = 0, squares = 0;
    for (int64_t i = 0; i < of.length; ++i) {
      const float before = x[i] - mean;
      mean += before / static_cast<float>(i + 1);
      squares += before * (x[i] - mean);
    }
    const float deviation = std::sqrt(squares / static_cast<float>(of.length) + of.epsilon);
    for (int64_t i = 0; i < of.length; ++i) {
      const float v = (x[i] - mean) / deviation * of.scale[i];
      y[i] = of.bias != nullptr ? v + of.bias[i] : v;
    }
  }
};

TEST(NormalizedRowsTest, SumsAreInOneOrderWhateverTheWidthOfVectors) {
  for (const int64_t length : {1, 5, 8, 9, 16, 31, 100, 384, 771}) {
    const std::vector<float> scale = Numbers(length, 0.7F), bias = Numbers(length, 1.3F);
    for (const int64_t rows : {1, 3, 16}) {
      const std::vector<float> x = Numbers(rows * length, 0.37F);
      for (const int way : {0, 1, 2, 3}) {
        const RowNormalization normalization{.length = length,
                                             .epsilon = 1e-5F,
                                             .centred = way != 2,
                                             .running_means = way == 1,
                                             .scale = scale.data(),
                                             .bias = way < 2 ? bias.data() : nullptr};
        const Expected expected(normalization, x);
        std::vector<float> y = x;
        NormalizeRows(normalization, y.data(), rows, y.data());
        for (size_t i = 0; i < y.size(); ++i) {
          if (HasEights() || way == 1) {
            ASSERT_EQ(y[i], expected.y[i]) << length << " " << rows << " " << way << " " << i;
          } else {
            ASSERT_NEAR(y[i], expected.y[i], 1e-5F) << length << " " << rows << " " << way;
          }
        }
      }
    }
  }
}

TEST(NormalizedRowsTest, MeanAndDeviationAreTold) {
  const std::vector<float> x = {1, 2, 3, 4, 5, 6, 7, 8}, ones(8, 1.0F);
  for (const bool running : {false, true}) {
    const RowMoments moments =
        NormalizeRows({.length = 8, .running_means = running, .scale = ones.data()}, x.data(), 1,
                      std::vector<float>(8).data());
    EXPECT_FLOAT_EQ(moments.mean[0], 4.5F);
    EXPECT_FLOAT_EQ(moments.inverse_deviation[0], 1 / std::sqrt(5.25F));
  }
}

}  // namespace normalized_rows_test
}  // namespace plimsoll::kernels::cpu
