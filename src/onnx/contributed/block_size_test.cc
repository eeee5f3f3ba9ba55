#include "onnx/contributed/block_size.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace plimsoll::onnx {
namespace block_size_test {

// A filter of one axis of outputs and one of inputs, written in blocks. Channels beyond `used` are
// filling.
struct Written {
  std::vector<float> elements;
  graph::ConstantTensor tensor;
  BlockedFilter filter;

  Written(int64_t block, UsedChannels all, UsedChannels used, double spread, uint32_t seed,
          bool blocks_of_inputs = true)
      : elements(all.outputs * all.inputs) {
    std::mt19937 random(seed);
    std::normal_distribution<double> normal;
    std::vector<double> outputs(all.outputs);
    for (double& output : outputs) output = std::exp(spread * normal(random));
    for (int64_t o = 0; o < used.outputs; ++o) {
      for (int64_t i = 0; i < used.inputs; ++i) {
        const int64_t place = (o / block * all.inputs + i) * block + o % block;
        elements[place] = static_cast<float>(outputs[o] * normal(random));
      }
    }
    tensor.bytes = std::as_bytes(std::span(elements));
    filter = {&tensor, {all.outputs, all.inputs, 1, 1}, blocks_of_inputs};
  }
};

constexpr int64_t kSizes[] = {4, 8, 16};

TEST(BlockSizeTest, WeightsOfOneOutputTellTheSize) {
  for (const int64_t size : kSizes) {
    const Written written(size, {64, 48}, {64, 48}, 0.5, 1);
    EXPECT_EQ(LikeliestBlock(kSizes, std::span(&written.filter, 1)), size);
  }
}

TEST(BlockSizeTest, WeightsThatAreAllAlikeTellNothing) {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    const Written written(8, {64, 48}, {64, 48}, 0, seed);
    EXPECT_EQ(LikeliestBlock(kSizes, std::span(&written.filter, 1)), std::nullopt) << seed;
  }
}

TEST(BlockSizeTest, FillingTellsTheSizeOfWeightsThatAreAlike) {
  const Written outputs(16, {32, 48}, {24, 48}, 0, 1);
  EXPECT_EQ(LikeliestBlock(kSizes, std::span(&outputs.filter, 1)), 16);
  const Written inputs(16, {64, 32}, {64, 24}, 0, 1);
  EXPECT_EQ(LikeliestBlock(kSizes, std::span(&inputs.filter, 1)), 16);
}

TEST(BlockSizeTest, UsedChannelsAreThoseBeforeTheFilling) {
  const Written written(8, {32, 16}, {27, 13}, 0, 1);
  EXPECT_EQ(UsedOf(written.filter, 8).outputs, 27);
  EXPECT_EQ(UsedOf(written.filter, 8).inputs, 13);
  const Written plain_inputs(8, {32, 3}, {26, 2}, 0, 1, /*blocks_of_inputs=*/false);
  EXPECT_EQ(UsedOf(plain_inputs.filter, 8).outputs, 26);
  EXPECT_EQ(UsedOf(plain_inputs.filter, 8).inputs, 3);
  const Written zeros(8, {32, 16}, {0, 0}, 0, 1);
  EXPECT_EQ(UsedOf(zeros.filter, 8).outputs, 25);
}

TEST(BlockSizeTest, MissingDataHasNoFilling) {
  Written written(8, {32, 16}, {27, 13}, 0, 1);
  written.tensor.bytes = {};
  EXPECT_EQ(UsedOf(written.filter, 8).outputs, 32);
  EXPECT_EQ(UsedOf(written.filter, 8).inputs, 16);
  EXPECT_EQ(LikeliestBlock(kSizes, std::span(&written.filter, 1)), std::nullopt);
}

}  // namespace block_size_test
}  // namespace plimsoll::onnx
