#include "kernels/cpu/quantization/byte_quads.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>
#include <random>
#include <vector>

#include "kernels/cpu/prepared_node_for_tests.h"
#include "kernels/cpu/quantization/bounded_weights.h"
#include "kernels/parallel.h"

namespace plimsoll::kernels::cpu {
namespace byte_quads_test {

int32_t LargestSum(std::span<const int32_t> weights, int32_t sign) {
  int32_t sum = 0;
  for (const int32_t weight : weights) sum += std::max(weight * sign, 0);
  return 255 * sum;
}

TEST(ByteQuadsTest, BoundedSumsFitIn16Bits) {
  std::mt19937 random(3);
  for (int i = 0; i < 10'000; ++i) {
    std::array<int32_t, 4> before;
    for (int32_t& weight : before) weight = static_cast<int32_t>(random() % 511) - 255;
    std::array<int32_t, 4> weights = before;
    BoundSum(weights);
    ASSERT_LE(LargestSum(weights, 1), 32767);
    ASSERT_LE(LargestSum(weights, -1), 32768);
    for (size_t k = 0; k < 4; ++k) {
      ASSERT_GE(weights[k], -128);
      ASSERT_LE(weights[k], 127);
      ASSERT_LE(std::abs(weights[k]), std::abs(before[k]));
    }
  }
}

// Inputs of a node: bytes over their whole range, weights that are drawn around their zero point.
template <typename T>
HostTensor Bytes8(const Dims& dims, std::mt19937& random, double deviation, int32_t middle) {
  std::vector<T> elements(static_cast<size_t>(ElementCount(dims)));
  std::normal_distribution<double> normal(middle, deviation);
  for (T& element : elements) {
    constexpr double kLow = std::numeric_limits<T>::min();
    constexpr double kHigh = std::numeric_limits<T>::max();
    element = static_cast<T>(std::clamp(normal(random), kLow, kHigh));
  }
  return Numbers<T>(dims, elements);
}

// The same bytes whether weights are packed or met as they are, for many shapes, types and spreads.
template <typename X, typename W>
void ExpectSameWithPackedWeights(const OneNode& node, const Dims& x, const Dims& w, uint32_t seed) {
  for (const double deviation : {12.0, 30.0, 45.0, 300.0}) {
    std::mt19937 random(seed);
    constexpr auto zero = static_cast<W>(std::is_signed_v<W> ? 0 : 119);
    const std::vector<HostTensor> inputs = {
        Bytes8<X>(x, random, 200, 50), Bytes8<W>(w, random, deviation, zero),
        Numbers<X>({}, {static_cast<X>(7)}), Numbers<W>({}, {zero})};
    const auto run = [&](const std::set<size_t>& constants, PackedWeights* weights) {
      const auto prepared = Prepare(node, inputs, constants, weights);
      EXPECT_TRUE(prepared.ok());
      return *prepared->template Run<int32_t>();
    };
    HeapPackedWeights packed;
    const std::vector<int32_t> expected = run({}, nullptr);
    ASSERT_EQ(run({1, 3}, &packed), expected)
        << node.op << " deviation " << deviation << " seed " << seed;
    if (deviation < 20) {
      EXPECT_EQ(packed.size(), 1U);
    }
  }
}

TEST(ByteQuadsTest, ConvolutionsAreTheSameWithBoundedWeights) {
  struct Case {
    Dims x, w;
    std::vector<int64_t> strides, pads;
    int64_t group = 1;
  };
  const Case cases[] = {
      {{1, 64, 7, 7}, {20, 64, 1, 1}, {1, 1}, {0, 0, 0, 0}},
      {{2, 13, 9, 11}, {7, 13, 3, 3}, {1, 1}, {1, 1, 1, 1}},
      {{1, 16, 10, 35}, {9, 16, 3, 3}, {2, 2}, {1, 1, 1, 1}},
      {{1, 8, 9, 40}, {6, 8, 1, 1}, {2, 2}, {0, 0, 0, 0}},
      {{1, 3, 20, 37}, {5, 3, 7, 7}, {2, 2}, {3, 3, 3, 3}},
      {{1, 12, 6, 6}, {8, 6, 3, 3}, {1, 1}, {0, 1, 1, 0}, 2},
      // A few places behind groups of 16, and a depth of more than 4,096 bytes.
      {{1, 4200, 1, 3}, {53, 4200, 1, 1}, {1, 1}, {0, 0, 0, 0}},
      {{1, 20, 5, 8}, {11, 20, 1, 1}, {1, 1}, {0, 0, 0, 0}},
      {{1, 20, 5, 5}, {11, 20, 1, 1}, {1, 1}, {0, 0, 0, 0}},
  };
  uint32_t seed = 1;
  for (const Case& one : cases) {
    const OneNode node{
        .op = "ConvInteger",
        .attributes = {{"strides", one.strides}, {"pads", one.pads}, {"group", one.group}},
        .version = 10};
    ExpectSameWithPackedWeights<uint8_t, int8_t>(node, one.x, one.w, ++seed);
    ExpectSameWithPackedWeights<int8_t, int8_t>(node, one.x, one.w, ++seed);
    ExpectSameWithPackedWeights<uint8_t, uint8_t>(node, one.x, one.w, ++seed);
  }
}

TEST(ByteQuadsTest, ConvolutionsOfSmallImagesAreTheSameForManyThreads) {
  const OneNode node{.op = "ConvInteger",
                     .attributes = {{"pads", std::vector<int64_t>{1, 1, 1, 1}}},
                     .version = 10};
  std::mt19937 random(9);
  const std::vector<HostTensor> inputs = {Bytes8<uint8_t>({1, 24, 6, 7}, random, 200, 50),
                                          Bytes8<int8_t>({203, 24, 3, 3}, random, 12, 0),
                                          Numbers<uint8_t>({}, {7}), Numbers<int8_t>({}, {0})};
  const auto run = [&](int threads, const std::set<size_t>& constants, PackedWeights* weights) {
    const ThreadScope scope(threads);
    const auto prepared = Prepare(node, inputs, constants, weights);
    EXPECT_TRUE(prepared.ok());
    return *prepared->Run<int32_t>();
  };
  const std::vector<int32_t> expected = run(1, {}, nullptr);
  for (const int threads : {2, 5, 16, 64}) {
    HeapPackedWeights packed;
    EXPECT_EQ(run(threads, {}, nullptr), expected) << threads;
    EXPECT_EQ(run(threads, {1, 3}, &packed), expected) << threads;
  }
}

TEST(ByteQuadsTest, ProductsAreTheSameWithBoundedWeights) {
  const OneNode node{.op = "MatMulInteger", .attributes = {}, .version = 10};
  uint32_t seed = 100;
  for (const int64_t rows : {1, 3, 4, 50}) {
    for (const int64_t depth : {1, 7, 64, 130}) {
      for (const int64_t columns : {1, 16, 77}) {
        ExpectSameWithPackedWeights<uint8_t, int8_t>(node, {rows, depth}, {depth, columns}, ++seed);
        ExpectSameWithPackedWeights<int8_t, uint8_t>(node, {rows, depth}, {depth, columns}, ++seed);
      }
    }
  }
}

}  // namespace byte_quads_test
}  // namespace plimsoll::kernels::cpu
