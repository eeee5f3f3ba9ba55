#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/cpu/convolution/blocked_channels_for_tests.h"
#include "kernels/cpu/random_nodes_for_tests.h"
#include "kernels/parallel.h"

// Convolutions of graphs whose sizes vary, which are made of code that is there already.
namespace plimsoll::kernels::cpu {
namespace own_convolution_test {

using Attributes = std::vector<std::pair<std::string, graph::Attribute>>;
using Ints = std::vector<int64_t>;

struct Layer {
  Ints data, weights, strides, pads;
  bool blocked;
};

Attributes WindowAttributes(const Layer& layer) {
  return {{"strides", layer.strides}, {"pads", layer.pads}};
}

Result<PreparedNode> PrepareLayer(const Layer& layer, PackedWeights* weights, bool sizes_vary,
                                  Bytes most_workspace = Bytes(kSaturated)) {
  Attributes attributes = WindowAttributes(layer);
  attributes.insert(attributes.end(), {{"channels", layer.data[1]},
                                       {"block", int64_t{BlockSize()}},
                                       {"input_blocked", int64_t{layer.blocked}},
                                       {"output_blocked", int64_t{layer.blocked}}});
  const OneNode node{.op = "FusedConv",
                     .attributes = attributes,
                     .outputs = 1,
                     .domain = "plimsoll",
                     .version = 1};
  const HostTensor x = Wavy(layer.data);
  return Prepare(
      node, {layer.blocked ? Blocked(x) : x, Wavy(layer.weights, 1), Wavy({layer.weights[0]}, 2)},
      {1, 2}, weights, most_workspace, false, {}, sizes_vary);
}

const Layer kLayers[] = {
    {{1, 16, 200}, {16, 16, 7}, {1}, {3, 3}, true},
    {{2, 20, 333}, {40, 20, 3}, {2}, {1, 1}, true},
    {{1, 24, 15, 19}, {40, 24, 3, 3}, {1, 1}, {1, 1, 1, 1}, true},
    {{2, 32, 9, 14}, {16, 32, 1, 1}, {2, 2}, {0, 0, 0, 0}, true},
    {{1, 40, 90}, {64, 40, 7}, {1}, {3, 3}, false},
    {{1, 3, 30, 26}, {32, 3, 3, 3}, {2, 2}, {1, 1, 1, 1}, false},
    {{1, 1, 300}, {32, 1, 9}, {1}, {4, 4}, false},
    {{1, 32, 150}, {2, 32, 5}, {1}, {2, 2}, false},
};

TEST(OwnConvolutionTest, GivesWhatTheStandardsOperatorGives) {
  for (const int threads : {1, 3}) {
    const ThreadScope scope(threads);
    for (const Layer& layer : kLayers) {
      const std::vector<float> expected =
          ElementsOf<float>((*OneNode{.op = "Conv", .attributes = WindowAttributes(layer)}.Run(
              {Wavy(layer.data), Wavy(layer.weights, 1), Wavy({layer.weights[0]}, 2)}))[0]);
      HeapPackedWeights packed;
      for (PackedWeights* const weights :
           {static_cast<PackedWeights*>(&packed), static_cast<PackedWeights*>(nullptr)}) {
        const auto prepared = PrepareLayer(layer, weights, true);
        ASSERT_TRUE(prepared.ok()) << prepared.error().Text();
        auto made = prepared->Run();
        ASSERT_TRUE(made.ok());
        if (layer.blocked) made = Unblocked(*made, prepared->output, layer.weights[0]);
        EXPECT_THAT(*made, testing::Pointwise(testing::FloatNear(2e-4F), expected))
            << layer.data.size() - 2 << " axes, " << layer.data[1] << " channels, "
            << prepared->kernel->implementation();
        const bool image_from_outside = layer.data.size() == 4 && !layer.blocked;
        if (weights == nullptr || image_from_outside) continue;
        EXPECT_FALSE(prepared->kernel->implementation().starts_with("jit"));
      }
    }
  }
}

TEST(OwnConvolutionTest, LongWorkAndOtherGraphsTakeTheFastestCode) {
  HeapPackedWeights packed;
  const Layer shorter{{1, 64, 20, 20}, {64, 64, 3, 3}, {1, 1}, {1, 1, 1, 1}, true};
  Layer longer = shorter;
  longer.data = {1, 64, 280, 280};
  const auto implementation = [&](const Layer& layer, bool sizes_vary) {
    return std::string(PrepareLayer(layer, &packed, sizes_vary)->kernel->implementation());
  };
  EXPECT_EQ(implementation(shorter, true), "ours:direct");
  EXPECT_NE(implementation(shorter, false), "ours:direct");
  EXPECT_EQ(implementation(longer, true), implementation(longer, false));
  const Layer row{{1, 64, 100}, {64, 64, 3}, {1}, {1, 1}, true};
  Layer long_row = row;
  long_row.data = {1, 64, 20000};
  EXPECT_EQ(implementation(row, true), "ours:direct");
  EXPECT_EQ(implementation(long_row, true), "ours:direct") << "the weights have one form";
}

// One line, and memory for pieces of four blocks of filters: each is work for one thread.
TEST(OwnConvolutionTest, PiecesThatLeaveThreadsIdleAreLeftToDirectConvolutions) {
  if (BlockSize() == 16) GTEST_SKIP() << "oneDNN cuts lines on this processor";
  const Layer layer{{1, 128, 200}, {128, 128, 5}, {1}, {2, 2}, false};
  const std::vector<float> expected =
      ElementsOf<float>((*OneNode{.op = "Conv", .attributes = WindowAttributes(layer)}.Run(
          {Wavy(layer.data), Wavy(layer.weights, 1), Wavy({layer.weights[0]}, 2)}))[0]);
  HeapPackedWeights packed;
  const auto prepare = [&](int threads, Bytes most) {
    const ThreadScope scope(threads);
    return PrepareLayer(layer, &packed, false, most);
  };
  const auto roomy = prepare(1, Bytes(kSaturated));
  ASSERT_TRUE(roomy.ok());
  const Bytes most = roomy->kernel->workspace() - Bytes(1);
  const auto alone = prepare(1, most);
  const auto shared = prepare(2, most);
  ASSERT_TRUE(alone.ok() && shared.ok());
  EXPECT_EQ(alone->kernel->implementation(), "jit:avx2");
  EXPECT_EQ(shared->kernel->implementation(), "ours:direct");
  EXPECT_LE(shared->kernel->workspace(), most);
  const ThreadScope scope(2);
  const auto made = shared->Run();
  ASSERT_TRUE(made.ok());
  EXPECT_THAT(*made, testing::Pointwise(testing::FloatNear(2e-4F), expected));
}

}  // namespace own_convolution_test
}  // namespace plimsoll::kernels::cpu
