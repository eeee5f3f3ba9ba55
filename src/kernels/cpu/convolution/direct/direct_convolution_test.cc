#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/blocking.h"
#include "kernels/cpu/convolution/direct/direct_tile.h"
#include "kernels/cpu/prepared_node_for_tests.h"
#include "kernels/cpu/random_nodes_for_tests.h"
#include "kernels/parallel.h"

namespace plimsoll::kernels::cpu {
namespace direct_convolution_test {

using testing::FloatNear;
using testing::Pointwise;
using Attributes = std::vector<std::pair<std::string, graph::Attribute>>;
using Floats = std::vector<float>;

OneNode Ours(std::string op, Attributes attributes) {
  return {.op = std::move(op),
          .attributes = std::move(attributes),
          .outputs = 1,
          .domain = "plimsoll",
          .version = 1};
}

HostTensor Blocked(const HostTensor& plain) {
  return (*Ours("BlockChannels", {{"block", int64_t{BlockSize()}}}).Run({plain}))[0];
}

struct Case {
  int64_t channels, filters, kernel, stride, dilation, pad;
  bool bias, residual;
  std::string activation;
};

Attributes WindowOf(const Case& one) {
  return {{"strides", std::vector<int64_t>{one.stride, one.stride}},
          {"dilations", std::vector<int64_t>{one.dilation, one.dilation}},
          {"pads", std::vector<int64_t>(4, one.pad)}};
}

// The standard's Conv in plain form, without packed weights; then the residual and the activation.
HostTensor Expected(const Case& one, const HostTensor& x, const HostTensor& w,
                    const HostTensor& bias, const HostTensor& residual) {
  std::vector<HostTensor> inputs = {x, w};
  if (one.bias) inputs.push_back(bias);
  HostTensor made = (*OneNode{.op = "Conv", .attributes = WindowOf(one)}.Run(inputs))[0];
  if (one.residual) made = (*OneNode{.op = "Add", .attributes = {}}.Run({made, residual}))[0];
  if (!one.activation.empty())
    made = (*OneNode{.op = one.activation, .attributes = {}}.Run({made}))[0];
  return made;
}

TEST(DirectConvolutionTest, GivesWhatTheStandardsOperatorsGive) {
  const Case cases[] = {
      {16, 32, 3, 1, 6, 6, true, true, "Relu"},    {64, 100, 3, 1, 4, 4, true, false, "Sigmoid"},
      {24, 16, 3, 1, 12, 12, false, false, ""},    {20, 12, 3, 1, 36, 36, true, true, "Tanh"},
      {8, 40, 5, 1, 3, 6, false, true, ""},        {16, 8, 3, 2, 5, 5, true, false, "Relu"},
      {5, 7, 3, 1, 8, 8, true, true, "HardSwish"}, {16, 16, 7, 1, 2, 6, true, false, ""},
  };
  for (const auto& [threads, blocked] : {std::pair{1, true}, {3, true}, {1, false}, {3, false}}) {
    const ThreadScope scope(threads);
    const auto formed = [&](const HostTensor& plain) { return blocked ? Blocked(plain) : plain; };
    for (const Case& one : cases) {
      const HostTensor x = Wavy({2, one.channels, 21, 27});
      const HostTensor w = Wavy({one.filters, one.channels, one.kernel, one.kernel}, 1);
      const HostTensor bias = Wavy({one.filters}, 2);
      const int64_t extent = (one.kernel - 1) * one.dilation + 1;
      const int64_t height = (21 + 2 * one.pad - extent) / one.stride + 1;
      const int64_t width = (27 + 2 * one.pad - extent) / one.stride + 1;
      const HostTensor residual = Wavy({2, one.filters, height, width}, 3);
      Attributes attributes = WindowOf(one);
      attributes.insert(attributes.end(), {{"channels", one.channels},
                                           {"block", int64_t{BlockSize()}},
                                           {"input_blocked", int64_t{1}},
                                           {"output_blocked", int64_t{blocked}}});
      if (!one.activation.empty()) attributes.emplace_back("activation", one.activation);
      std::vector<HostTensor> inputs = {Blocked(x), w};
      inputs.push_back(one.bias ? bias : HostTensor());
      if (one.residual) inputs.push_back(formed(residual));
      if (!one.bias && !one.residual) inputs.pop_back();
      if (!one.bias && one.residual) inputs[2] = Wavy({one.filters}, 2);
      Case meant = one;
      meant.bias = one.bias || one.residual;
      HeapPackedWeights weights;
      const auto prepared =
          Prepare(Ours("FusedConv", attributes), std::move(inputs), {1, 2}, &weights);
      ASSERT_TRUE(prepared.ok()) << prepared.error().Text();
      EXPECT_EQ(prepared->kernel->implementation(), "ours:direct") << one.channels;
      EXPECT_EQ(prepared->kernel->workspace(), Bytes());
      const Floats expected = ElementsOf<float>(formed(Expected(meant, x, w, bias, residual)));
      for (const int over : {-1, one.residual ? 3 : -1}) {
        const auto made = prepared->Run(over);
        ASSERT_TRUE(made.ok());
        // Channels behind the last one are zero in both.
        EXPECT_THAT(*made, Pointwise(FloatNear(2e-4f), expected))
            << one.channels << " channels, dilation " << one.dilation << ", over " << over
            << (blocked ? "" : ", plain");
      }
    }
  }
}

TEST(DirectConvolutionTest, LeavesDenseWindowsAndWeightsThatAreNotPackedToOthers) {
  const auto implementation = [](int64_t dilation, PackedWeights* weights) {
    const Attributes attributes = {{"dilations", std::vector<int64_t>(2, dilation)},
                                   {"pads", std::vector<int64_t>(4, dilation)},
                                   {"channels", int64_t{16}},
                                   {"block", int64_t{BlockSize()}},
                                   {"input_blocked", int64_t{1}},
                                   {"output_blocked", int64_t{1}}};
    const auto prepared =
        Prepare(Ours("FusedConv", attributes),
                {Blocked(Wavy({1, 16, 40, 40})), Wavy({16, 16, 3, 3}, 1)}, {1}, weights);
    return std::string(prepared->kernel->implementation());
  };
  HeapPackedWeights weights;
  EXPECT_EQ(implementation(8, &weights), "ours:direct");
  EXPECT_NE(implementation(1, &weights), "ours:direct");
  EXPECT_NE(implementation(8, nullptr), "ours:direct");
}

TEST(DirectConvolutionTest, LeavesSmallImagesWhoseTilesWouldBeMostlyEmptyToOthers) {
  const auto implementation = [](int64_t image, int64_t channels) {
    const Attributes attributes = {{"pads", std::vector<int64_t>(4, 2)},
                                   {"channels", channels},
                                   {"block", int64_t{BlockSize()}},
                                   {"input_blocked", int64_t{1}},
                                   {"output_blocked", int64_t{1}}};
    HeapPackedWeights weights;
    const auto prepared =
        Prepare(Ours("FusedConv", attributes),
                {Blocked(Wavy({1, channels, image, image})), Wavy({channels, channels, 5, 5}, 1)},
                {1}, &weights);
    return std::string(prepared->kernel->implementation());
  };
  EXPECT_NE(implementation(7, 32), "ours:direct") << "a rectangle has two places";
  EXPECT_EQ(implementation(7, 128), "ours:direct") << "but eight panels";
}

TEST(DirectTileTest, ABlockMayBeSmallerThanAVector) {
  constexpr int64_t kChannels = 16;
  constexpr int64_t kPlaces = 3;
  Dice dice(7);
  for (const int64_t block : {4, 8, 16}) {
    Floats source(kChannels * kPlaces), weights(kChannels * kDirectFilters);
    Floats residual(kDirectFilters * kPlaces), bias(kDirectFilters);
    for (Floats* some : {&source, &weights, &residual, &bias}) {
      for (float& one : *some) one = static_cast<float>(dice.Of(-4, 4));
    }
    const std::vector<int64_t> places = {0, block, 2 * block};
    const DirectTap tap;
    Floats made(kDirectFilters * kPlaces);
    const DirectTile tile{.source = source.data(),
                          .places = places.data(),
                          .results = places.data(),
                          .count = kPlaces,
                          .taps = &tap,
                          .tap_count = 1,
                          .block = block,
                          .channel_blocks = kChannels / block,
                          .source_stride = kPlaces * block,
                          .weights = weights.data(),
                          .bias = bias.data(),
                          .residual = residual.data(),
                          .to = made.data(),
                          .to_block = block,
                          .to_stride = kPlaces * block,
                          .filters = kDirectFilters};
    SumDirectTile(tile);
    const auto at = [&](int64_t place, int64_t channel) {
      return static_cast<size_t>(channel / block * kPlaces * block + place * block +
                                 channel % block);
    };
    for (int64_t place = 0; place < kPlaces; ++place) {
      for (int64_t filter = 0; filter < kDirectFilters; ++filter) {
        float expected = bias[static_cast<size_t>(filter)] + residual[at(place, filter)];
        for (int64_t channel = 0; channel < kChannels; ++channel) {
          expected += source[at(place, channel)] *
                      weights[static_cast<size_t>(channel * kDirectFilters + filter)];
        }
        EXPECT_EQ(made[at(place, filter)], expected)
            << "block " << block << " place " << place << " filter " << filter;
      }
    }
  }
}

}  // namespace direct_convolution_test
}  // namespace plimsoll::kernels::cpu
