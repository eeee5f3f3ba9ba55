#include "kernels/cpu/convolution/bytes/byte_depthwise.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <set>
#include <type_traits>
#include <vector>

#include "kernels/cpu/prepared_node_for_tests.h"
#include "kernels/parallel.h"

namespace plimsoll::kernels::cpu {
namespace byte_depthwise_test {

struct Case {
  int64_t channels;
  int64_t height;
  int64_t width;
  int64_t kernel_height;
  int64_t kernel_width;
  int64_t stride_down;
  int64_t stride;
  int64_t dilation;
  std::vector<int64_t> pads;  // top, left, bottom, right
  int64_t filters = 1;        // of each channel

  int64_t rows() const {
    return (height + pads[0] + pads[2] - (kernel_height - 1) * dilation - 1) / stride_down + 1;
  }
  int64_t columns() const {
    return (width + pads[1] + pads[3] - (kernel_width - 1) * dilation - 1) / stride + 1;
  }
};

// Narrow maps, of which rows share a vector, wide ones, and those of more lines than one block has.
const Case kCases[] = {
    {5, 7, 7, 3, 3, 1, 1, 1, {1, 1, 1, 1}},     {18, 7, 7, 5, 5, 1, 1, 1, {2, 2, 2, 2}},
    {3, 14, 14, 3, 3, 2, 2, 1, {1, 1, 1, 1}},   {3, 14, 14, 3, 3, 2, 2, 1, {0, 0, 1, 1}},
    {2, 28, 29, 5, 5, 2, 2, 1, {2, 2, 2, 2}},   {2, 30, 112, 3, 3, 1, 1, 1, {1, 1, 1, 1}},
    {2, 31, 113, 3, 3, 2, 2, 1, {1, 1, 1, 1}},  {1, 60, 1500, 3, 3, 1, 1, 1, {1, 1, 1, 1}},
    {2, 9, 40, 3, 3, 1, 1, 2, {2, 2, 2, 2}},    {2, 9, 40, 3, 3, 2, 2, 3, {3, 3, 3, 3}},
    {2, 9, 40, 3, 3, 1, 2, 1, {1, 1, 1, 1}},    {2, 9, 40, 3, 3, 3, 1, 1, {1, 1, 1, 1}},
    {2, 9, 40, 3, 3, 3, 3, 1, {1, 1, 1, 1}},    {3, 6, 5, 1, 1, 1, 1, 1, {0, 0, 0, 0}},
    {3, 6, 5, 1, 1, 2, 2, 1, {0, 0, 0, 0}},     {2, 5, 6, 2, 2, 1, 1, 1, {3, 4, 4, 3}},
    {2, 1, 100, 1, 7, 1, 1, 1, {0, 3, 0, 3}},   {2, 64, 1, 7, 1, 1, 1, 1, {3, 0, 3, 0}},
    {3, 8, 20, 3, 3, 1, 1, 1, {1, 1, 1, 1}, 2}, {1, 3, 3, 3, 3, 1, 1, 1, {0, 0, 0, 0}},
};

template <typename T>
std::vector<T> Drawn(int64_t count, std::mt19937& random) {
  std::vector<T> elements(static_cast<size_t>(count));
  for (T& element : elements) element = static_cast<T>(random());
  return elements;
}

template <typename X, typename W>
struct Operands {
  std::vector<X> x;
  std::vector<W> w;
  std::vector<int32_t> bias;
  int32_t x_zero;
  int32_t w_zero;
};

constexpr float kScale = 0.0009765625F;  // 2^-10: products are exact

template <typename X, typename W>
std::vector<X> ByDefinition(const Case& one, const Operands<X, W>& operands, int32_t y_zero) {
  std::vector<X> made;
  const int64_t taps = one.kernel_height * one.kernel_width;
  for (int64_t filter = 0; filter < one.channels * one.filters; ++filter) {
    for (int64_t place = 0; place < one.rows() * one.columns(); ++place) {
      int32_t sum = operands.bias[static_cast<size_t>(filter)];
      for (int64_t tap = 0; tap < taps; ++tap) {
        const int64_t y = place / one.columns() * one.stride_down +
                          tap / one.kernel_width * one.dilation - one.pads[0];
        const int64_t x = place % one.columns() * one.stride +
                          tap % one.kernel_width * one.dilation - one.pads[1];
        if (y < 0 || y >= one.height || x < 0 || x >= one.width) continue;
        const int64_t at = (filter / one.filters * one.height + y) * one.width + x;
        sum += (operands.x[static_cast<size_t>(at)] - operands.x_zero) *
               (operands.w[static_cast<size_t>(filter * taps + tap)] - operands.w_zero);
      }
      const float rounded = std::nearbyint(static_cast<float>(sum) * kScale);
      made.push_back(static_cast<X>(std::clamp(rounded + static_cast<float>(y_zero),
                                               float{std::numeric_limits<X>::min()},
                                               float{std::numeric_limits<X>::max()})));
    }
  }
  return made;
}

template <typename X, typename W>
void CheckAll(int32_t x_zero, int32_t w_zero) {
  std::mt19937 random(3);
  for (const Case& one : kCases) {
    const int64_t filters = one.channels * one.filters;
    const int64_t taps = one.kernel_height * one.kernel_width;
    Operands<X, W> operands{Drawn<X>(one.channels * one.height * one.width, random),
                            Drawn<W>(filters * taps, random),
                            {},
                            x_zero,
                            w_zero};
    for (int64_t i = 0; i < filters; ++i) {
      operands.bias.push_back(static_cast<int32_t>(random() % 40000) - 20000);
    }
    const int32_t y_zero = std::is_signed_v<X> ? -9 : 100;
    const std::vector<X> expected = ByDefinition(one, operands, y_zero);
    for (const int64_t nearest : {0, 1}) {
      const OneNode node{
          .op = "QLinearConv",
          .attributes = {{"group", one.channels},
                         {"nearest_bytes", nearest},
                         {"strides", std::vector<int64_t>{one.stride_down, one.stride}},
                         {"dilations", std::vector<int64_t>(2, one.dilation)},
                         {"pads", one.pads}},
          .version = 10};
      // Nothing is known before a run, the weights are, or all but the data.
      for (const std::set<size_t>& constants :
           {std::set<size_t>{}, {3, 5}, {1, 2, 3, 4, 5, 6, 7, 8}}) {
        const ThreadScope scope(constants.empty() ? 1 : 3);
        HeapPackedWeights weights;
        const auto prepared =
            Prepare(node,
                    {Numbers<X>({1, one.channels, one.height, one.width}, operands.x),
                     Numbers<float>({}, {kScale}), Numbers<X>({}, {static_cast<X>(x_zero)}),
                     Numbers<W>({filters, 1, one.kernel_height, one.kernel_width}, operands.w),
                     Numbers<float>({}, {1}), Numbers<W>({}, {static_cast<W>(w_zero)}),
                     Numbers<float>({}, {1}), Numbers<X>({}, {static_cast<X>(y_zero)}),
                     Numbers<int32_t>({filters}, operands.bias)},
                    constants, &weights);
        ASSERT_TRUE(prepared.ok());
        EXPECT_EQ(weights.size(), constants.empty() ? 0U : 1U);
        for (int run = 0; run < 2; ++run) {
          EXPECT_EQ(*prepared->template Run<X>(), expected)
              << &one - kCases << ", nearest " << nearest << ", " << constants.size()
              << " constants";
        }
      }
    }
  }
}

TEST(ByteDepthwiseTest, IsTheDefinitionOfUnsignedBytes) { CheckAll<uint8_t, int8_t>(117, 0); }
TEST(ByteDepthwiseTest, IsTheDefinitionOfSignedBytes) { CheckAll<int8_t, int8_t>(-5, 0); }
TEST(ByteDepthwiseTest, IsTheDefinitionOfUnsignedWeights) { CheckAll<uint8_t, uint8_t>(3, 130); }

}  // namespace byte_depthwise_test
}  // namespace plimsoll::kernels::cpu
