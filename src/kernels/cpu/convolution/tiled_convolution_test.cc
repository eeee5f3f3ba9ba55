#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <utility>

#include "kernels/blocking.h"
#include "kernels/cpu/convolution/blocked_channels_for_tests.h"
#include "kernels/cpu/prepared_node_for_tests.h"
#include "kernels/parallel.h"
#include "plimsoll/base/text.h"

namespace plimsoll::kernels::cpu {
namespace tiled_convolution_test {

using Floats = std::vector<float>;
using Ints = std::vector<int64_t>;

struct Volume {
  int64_t batch = 1;
  int64_t channels = 0;
  int64_t filters = 0;
  Dims input;
  Ints kernel;
  Ints strides = {1, 1, 1};
  Ints pads = {1, 1, 1, 1, 1, 1};

  decltype(OneNode::attributes) OfWindow() const { return {{"strides", strides}, {"pads", pads}}; }
  HostTensor Data() const { return Wavy({batch, channels, input[0], input[1], input[2]}); }
  HostTensor Weights() const {
    return Wavy({filters, channels, kernel[0], kernel[1], kernel[2]}, 1);
  }
};

HostTensor AsDoubles(const HostTensor& floats) {
  const OneNode cast{.op = "Cast", .attributes = {{"to", int64_t{11}}}, .outputs = 1};
  return (*cast.Run({floats}))[0];
}

// By the definition, in double.
std::vector<double> Expected(const Volume& volume) {
  const OneNode node{.op = "Conv", .attributes = volume.OfWindow(), .outputs = 1};
  const auto made = node.Run({AsDoubles(volume.Data()), AsDoubles(volume.Weights()),
                              AsDoubles(Wavy({volume.filters}, 2))});
  return ElementsOf<double>((*made)[0]);
}

OneNode FusedNode(const Volume& volume, bool blocked) {
  OneNode node{.op = "FusedConv",
               .attributes = volume.OfWindow(),
               .outputs = 1,
               .domain = "plimsoll",
               .version = 1};
  node.attributes.emplace_back("channels", volume.channels);
  node.attributes.emplace_back("block", int64_t{BlockSize()});
  node.attributes.emplace_back("input_blocked", int64_t{blocked});
  node.attributes.emplace_back("output_blocked", int64_t{blocked});
  return node;
}

// Every form with room for parts of the volume, and for nothing, in one thread and in several.
TEST(TiledConvolutionTest, VolumesGiveWhatTheDefinitionGives) {
  const std::vector<Volume> volumes = {
      {.channels = 32, .filters = 16, .input = {9, 11, 12}, .kernel = {3, 3, 3}},
      {.batch = 2,
       .channels = 8,
       .filters = 24,
       .input = {7, 8, 9},
       .kernel = {3, 1, 3},
       .pads = {1, 0, 1, 1, 0, 1}},
      {.channels = 17,
       .filters = 21,
       .input = {10, 9, 13},
       .kernel = {2, 3, 3},
       .strides = {2, 1, 2},
       .pads = {0, 1, 2, 1, 0, 1}},
      {.channels = 40,
       .filters = 16,
       .input = {8, 9, 10},
       .kernel = {1, 1, 1},
       .pads = {0, 0, 0, 0, 0, 0}},
  };
  for (const Volume& volume : volumes) {
    const std::vector<double> expected = Expected(volume);
    for (const int variant : {0, 1, 2, 3, 4, 5, 6, 7}) {
      const bool blocked = (variant & 1) != 0;
      const Bytes room = (variant & 2) != 0 ? Bytes() : Bytes(150 << 10);
      const ThreadScope threads((variant & 4) != 0 ? 3 : 1);
      HeapPackedWeights weights;
      const HostTensor data = volume.Data();
      const auto prepared =
          Prepare(FusedNode(volume, blocked),
                  {blocked ? Blocked(data) : data, volume.Weights(), Wavy({volume.filters}, 2)},
                  {1, 2}, &weights, room);
      ASSERT_TRUE(prepared.ok()) << prepared.error().Text();
      SCOPED_TRACE(StrCat(volume.channels, " channels, ", blocked ? "blocked, " : "", "room ",
                          room.value(), ", ", Threads(),
                          " threads: ", prepared->kernel->implementation()));
      const bool fills_blocks = volume.channels % BlockSize() == 0;
      if (fills_blocks && (room > Bytes() || blocked)) {
        EXPECT_NE(prepared->kernel->implementation(), "ours:product");
      }
      const auto made = prepared->Run();
      ASSERT_TRUE(made.ok()) << made.error().Text();
      const Floats got = blocked ? Unblocked(*made, prepared->output, volume.filters) : *made;
      ASSERT_EQ(got.size(), expected.size());
      for (size_t i = 0; i < got.size(); ++i) {
        ASSERT_NEAR(got[i], expected[i], 1e-4 * (1 + std::abs(expected[i]))) << "element " << i;
      }
    }
  }
}

// The plain form of what is packed may be gone: whoever serves in the end does not read it.
TEST(TiledConvolutionTest, WhatIsPackedIsNotReadPlainHoweverMuchRoomThereIs) {
  struct Plane {
    int64_t channels;
    int64_t filters;
    Ints kernel;
    int64_t dilation;
  };
  for (const Plane& plane : std::vector<Plane>{
           {61, 64, {1, 3}, 16}, {64, 64, {3, 3}, 2}, {32, 48, {3, 3}, 1}, {64, 61, {1, 1}, 1}}) {
    Ints pads;
    for (const int64_t taps : plane.kernel) pads.push_back((taps - 1) * plane.dilation / 2);
    OneNode node{.op = "FusedConv",
                 .attributes = {{"dilations", Ints{plane.dilation, plane.dilation}},
                                {"pads", Ints{pads[0], pads[1], pads[0], pads[1]}},
                                {"channels", plane.channels},
                                {"block", int64_t{BlockSize()}}},
                 .outputs = 1,
                 .domain = "plimsoll",
                 .version = 1};
    for (int64_t number = 0; number < 4 * 64; ++number) {
      const bool input_blocked = number % 2 == 1;
      const bool output_blocked = number / 2 % 2 == 1;
      const Bytes room = Bytes(64 << 10) + Bytes(number / 4) * int64_t{512};
      node.attributes.resize(4);
      node.attributes.emplace_back("input_blocked", int64_t{input_blocked});
      node.attributes.emplace_back("output_blocked", int64_t{output_blocked});
      const HostTensor w =
          Wavy({plane.filters, plane.channels, plane.kernel[0], plane.kernel[1]}, 1);
      HeapPackedWeights weights;
      const HostTensor x = Wavy({1, plane.channels, 16, 21});
      const auto prepared =
          Prepare(node, {input_blocked ? Blocked(x) : x, w, Wavy({plane.filters}, 2)}, {1, 2},
                  &weights, room);
      ASSERT_TRUE(prepared.ok()) << prepared.error().Text();
      const auto whole = prepared->Run();
      ASSERT_TRUE(whole.ok());
      if (weights.size() == 0) continue;
      std::fill_n(static_cast<float*>(w.data.get()), w.elements(), std::nanf(""));
      EXPECT_EQ(*prepared->Run(), *whole) << plane.channels << " channels, room " << room.value()
                                          << ": " << prepared->kernel->implementation();
    }
  }
}

// Of a large kernel all taps of a block of channels are more than a small plane.
TEST(TiledConvolutionTest, DepthwiseBlocksNeedNoRoomForTheirTaps) {
  for (const int64_t channels : {16, 24}) {
    for (const int64_t stride : {1, 2}) {
      OneNode node{.op = "FusedConv",
                   .attributes = {{"group", channels},
                                  {"strides", Ints{stride, stride}},
                                  {"pads", Ints{15, 16, 15, 16}},
                                  {"channels", channels},
                                  {"block", int64_t{BlockSize()}},
                                  {"input_blocked", int64_t{1}},
                                  {"output_blocked", int64_t{1}}},
                   .outputs = 1,
                   .domain = "plimsoll",
                   .version = 1};
      const std::vector<HostTensor> inputs = {
          Blocked(Wavy({1, channels, 39, 30})), Wavy({channels, 1, 31, 33}, 1), Wavy({channels}, 2),
          Blocked(Wavy({1, channels, (39 + stride - 1) / stride, (30 + stride - 1) / stride}, 3))};
      const auto small = Prepare(node, inputs, {1, 2}, nullptr, Bytes());
      ASSERT_TRUE(small.ok()) << small.error().Text();
      EXPECT_EQ(small->kernel->implementation(), "ours:depthwise");
      EXPECT_EQ(small->kernel->workspace(), Bytes());
      const auto whole = Prepare(node, inputs, {1, 2});
      ASSERT_TRUE(whole.ok());
      const Floats got = *small->Run();
      const Floats expected = *whole->Run();
      ASSERT_EQ(got.size(), expected.size());
      for (size_t i = 0; i < got.size(); ++i) {
        ASSERT_NEAR(got[i], expected[i], 2e-3) << "element " << i;
      }
    }
  }
}

}  // namespace tiled_convolution_test
}  // namespace plimsoll::kernels::cpu
