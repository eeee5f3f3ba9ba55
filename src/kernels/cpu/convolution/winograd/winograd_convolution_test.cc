#include "kernels/cpu/convolution/winograd/winograd_convolution.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/blocking.h"
#include "kernels/cpu/prepared_node_for_tests.h"
#include "kernels/cpu/random_nodes_for_tests.h"
#include "kernels/parallel.h"

namespace plimsoll::kernels::cpu {
namespace winograd_convolution_test {

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
  int64_t batch = 1, channels = 0, filters = 0, height = 0, width = 0;
  std::vector<int64_t> pads = {1, 1, 1, 1};  // top, left, bottom, right
  std::vector<int64_t> dilations = {1, 1};
  bool bias = true, residual = false;
  std::string activation = {};
  float low = 0, high = 0;  // of Clip

  int64_t OutputHeight() const { return height + pads[0] + pads[2] - 2 * dilations[0]; }
  int64_t OutputWidth() const { return width + pads[1] + pads[3] - 2 * dilations[1]; }
};

struct Tensors {
  HostTensor x, w, bias, residual;
};

Tensors Draw(const Case& one) {
  return {Wavy({one.batch, one.channels, one.height, one.width}),
          Wavy({one.filters, one.channels, 3, 3}, 1), Wavy({one.filters}, 2),
          Wavy({one.batch, one.filters, one.OutputHeight(), one.OutputWidth()}, 3)};
}

// The sums by the definition, in double; plain.
std::vector<double> Sums(const Case& one, const Tensors& given) {
  const Floats x = ElementsOf<float>(given.x);
  const Floats w = ElementsOf<float>(given.w);
  const int64_t height = one.OutputHeight();
  const int64_t width = one.OutputWidth();
  std::vector<double> sums(static_cast<size_t>(one.batch * one.filters * height * width));
  for (size_t at = 0; at < sums.size(); ++at) {
    const auto place = static_cast<int64_t>(at);
    const int64_t column = place % width;
    const int64_t row = place / width % height;
    const int64_t filter = place / width / height % one.filters;
    const int64_t image = place / width / height / one.filters;
    for (int64_t c = 0; c < one.channels; ++c) {
      for (int64_t tap = 0; tap < 9; ++tap) {
        const int64_t y = row - one.pads[0] + tap / 3 * one.dilations[0];
        const int64_t xx = column - one.pads[1] + tap % 3 * one.dilations[1];
        if (y < 0 || y >= one.height || xx < 0 || xx >= one.width) continue;
        const int64_t from = ((image * one.channels + c) * one.height + y) * one.width + xx;
        sums[at] += double{x[static_cast<size_t>(from)]} *
                    w[static_cast<size_t>((filter * one.channels + c) * 9 + tap)];
      }
    }
  }
  return sums;
}

// With bias, residual and activation, in the form of the node.
HostTensor Expected(const Case& one, const Tensors& given, const std::vector<double>& sums) {
  HostTensor made = *AllocateOnHeap(graph::DataType::kFloat32, given.residual.dims);
  const Floats bias = ElementsOf<float>(given.bias);
  const Floats residual = ElementsOf<float>(given.residual);
  const size_t map = static_cast<size_t>(one.OutputHeight() * one.OutputWidth());
  for (size_t i = 0; i < sums.size(); ++i) {
    double sum = sums[i];
    if (one.bias) sum += bias[i / map % bias.size()];
    if (one.residual) sum += residual[i];
    static_cast<float*>(made.data.get())[i] = static_cast<float>(sum);
  }
  if (one.activation == "Clip") {
    for (size_t i = 0; i < sums.size(); ++i) {
      float& element = static_cast<float*>(made.data.get())[i];
      element = std::clamp(element, one.low, one.high);
    }
  } else if (!one.activation.empty()) {
    made = (*OneNode{.op = one.activation, .attributes = {}}.Run({made}))[0];
  }
  return Blocked(made);
}

Result<PreparedNode> PrepareCase(const Case& one, const Tensors& given, HeapPackedWeights& weights,
                                 int results, Bytes most_workspace = Bytes(kSaturated)) {
  Attributes attributes = {{"dilations", one.dilations},  {"pads", one.pads},
                           {"channels", one.channels},    {"block", int64_t{BlockSize()}},
                           {"input_blocked", int64_t{1}}, {"output_blocked", int64_t{1}}};
  if (!one.activation.empty()) attributes.emplace_back("activation", one.activation);
  if (one.activation == "Clip") {
    attributes.emplace_back("activation_alpha", one.low);
    attributes.emplace_back("activation_beta", one.high);
  }
  std::vector<HostTensor> inputs = {Blocked(given.x), given.w};
  if (one.bias || one.residual) inputs.push_back(one.bias ? given.bias : HostTensor());
  if (one.residual) inputs.push_back(Blocked(given.residual));
  return Prepare(Ours("FusedConv", attributes), std::move(inputs), {1, 2}, &weights, most_workspace,
                 false, "winograd " + std::to_string(results));
}

double Largest(const std::vector<double>& sums) {
  double largest = 0;
  for (const double sum : sums) largest = std::max(largest, std::abs(sum));
  return largest;
}

// The largest difference, in parts of the largest sum: no activation here lengthens differences by
// more than half.
double Error(const Floats& made, const Floats& expected, double largest) {
  double difference = 0;
  for (size_t i = 0; i < made.size(); ++i) {
    difference = std::max(difference, std::abs(double{made[i]} - expected[i]));
  }
  return difference / largest;
}

std::vector<Case> DrawnCases() {
  const char* const activations[] = {"",        "Relu", "LeakyRelu", "Clip", "Elu",
                                     "Sigmoid", "Tanh", "HardSwish", "Mish"};
  std::vector<Case> cases;
  Dice dice(11);
  for (int i = 0; i < 27; ++i) {
    Case one;
    one.batch = dice.Of(1, 2);
    one.channels = dice.Of(3, 40);
    one.filters = dice.Of(3, 40);
    one.dilations = {dice.Of(1, 3), dice.Of(1, 3)};
    one.height = dice.Of(1, 14) + 2 * one.dilations[0];
    one.width = dice.Of(1, 14) + 2 * one.dilations[1];
    for (int64_t& pad : one.pads) pad = dice.Of(0, 3);
    one.bias = dice.Of(0, 3) > 0;
    one.residual = one.bias && dice.Of(0, 1) > 0;
    one.activation = activations[i % 9];
    one.low = 0.25f;
    one.high = 2.5f;
    cases.push_back(one);
  }
  return cases;
}

TEST(WinogradConvolutionTest, GivesWhatTheDefinitionGivesAndTheSameBitsForAnyNumberOfThreads) {
  for (const Case& one : DrawnCases()) {
    const Tensors given = Draw(one);
    const std::vector<double> sums = Sums(one, given);
    const Floats expected = ElementsOf<float>(Expected(one, given, sums));
    const double largest = Largest(sums);
    for (const int results : {2, 4}) {
      Floats first;
      for (const int threads : {1, 2, 5}) {
        const ThreadScope scope(threads);
        HeapPackedWeights weights;
        const auto prepared = PrepareCase(one, given, weights, results);
        ASSERT_TRUE(prepared.ok()) << prepared.error().Text();
        ASSERT_EQ(prepared->kernel->implementation(), "ours:winograd");
        for (const int over : {-1, one.residual ? 3 : -1}) {
          const auto made = prepared->Run(over);
          ASSERT_TRUE(made.ok());
          EXPECT_LT(Error(*made, expected, largest), results == 2 ? 2e-6 : 1e-5)
              << one.channels << " to " << one.filters << ", " << one.activation << ", over "
              << over;
          if (first.empty()) first = *made;
          EXPECT_EQ(std::memcmp(first.data(), made->data(), first.size() * sizeof(float)), 0)
              << threads << " threads, over " << over;
        }
      }
    }
  }
}

TEST(WinogradConvolutionTest, LosesFewDigitsWithManyChannelsAndMixedMagnitudes) {
  for (const int64_t channels : {64, 512, 2048}) {
    const Case one{.channels = channels, .filters = 24, .height = 9, .width = 9};
    Tensors given = Draw(one);
    // Channels of very different size, and inputs that are not negative, as after Relu.
    auto* const x = static_cast<float*>(given.x.data.get());
    for (int64_t i = 0; i < given.x.elements(); ++i) {
      x[i] = std::abs(x[i]) * std::exp2(static_cast<float>(i / 81 % 13 - 6));
    }
    const std::vector<double> sums = Sums(one, given);
    const Floats expected = ElementsOf<float>(Expected(one, given, sums));
    for (const int results : {2, 4}) {
      HeapPackedWeights weights;
      const auto prepared = PrepareCase(one, given, weights, results);
      ASSERT_EQ(prepared->kernel->implementation(), "ours:winograd");
      EXPECT_LT(Error(*prepared->Run(), expected, Largest(sums)), results == 2 ? 2e-6 : 1e-5)
          << channels;
    }
  }
}

TEST(WinogradConvolutionTest, WhatIsNotFiniteStaysUnderTheWindowsThatSeeIt) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  // The last one overflows in the transform alone.
  for (const float odd : {kInfinity, -kInfinity, kNan, 2e38f}) {
    for (const std::string activation : {"", "Sigmoid"}) {
      const Case one{.batch = 2,
                     .channels = 20,
                     .filters = 21,
                     .height = 11,
                     .width = 13,
                     .residual = true,
                     .activation = activation};
      Tensors given = Draw(one);
      constexpr int64_t kImage = 1, kChannel = 5, kRow = 4, kColumn = 6;
      static_cast<float*>(
          given.x.data.get())[((kImage * one.channels + kChannel) * one.height + kRow) * one.width +
                              kColumn] = odd;
      const std::vector<double> sums = Sums(one, given);
      const Floats expected = ElementsOf<float>(Expected(one, given, sums));
      for (const int results : {2, 4}) {
        for (const int over : {-1, 3}) {
          HeapPackedWeights weights;
          const auto prepared = PrepareCase(one, given, weights, results);
          const auto made = prepared->Run(over);
          int seen = 0;
          for (size_t i = 0; i < expected.size(); ++i) {
            if (std::isnan(expected[i])) {
              EXPECT_TRUE(std::isnan((*made)[i])) << i;
            } else if (std::isinf(expected[i])) {
              EXPECT_EQ((*made)[i], expected[i]) << i;
            } else {
              const double size = std::max(1.0f, std::abs(expected[i]));
              EXPECT_LT(std::abs(double{(*made)[i]} - expected[i]), 1e-4 * size) << i;
            }
            if (!std::isfinite(expected[i])) ++seen;
          }
          const bool spreads = activation.empty() && !std::isfinite(odd);
          EXPECT_EQ(seen > 0, spreads || std::isnan(odd));
        }
      }
    }
  }
}

TEST(WinogradConvolutionTest, IsTakenWhereItIsAskedForAndThereIsRoom) {
  const Case one{.channels = 32, .filters = 32, .height = 20, .width = 20};
  const Tensors given = Draw(one);
  const auto implementation = [&](int results, Bytes most) {
    HeapPackedWeights weights;
    const auto prepared = PrepareCase(one, given, weights, results, most);
    EXPECT_LE(prepared->kernel->workspace(), most);
    return std::string(prepared->kernel->implementation());
  };
  EXPECT_EQ(implementation(4, MiB(64)), "ours:winograd");
  EXPECT_NE(implementation(3, MiB(64)), "ours:winograd");
  EXPECT_NE(implementation(4, KiB(1)), "ours:winograd");
  EXPECT_NE(implementation(4, Bytes(0)), "ours:winograd");
  Tensors endless = given;
  endless.w = Wavy({32, 32, 3, 3}, 1);
  static_cast<float*>(endless.w.data.get())[77] = std::numeric_limits<float>::infinity();
  HeapPackedWeights weights;
  EXPECT_NE(PrepareCase(one, endless, weights, 4)->kernel->implementation(), "ours:winograd");
}

TEST(WinogradConvolutionTest, EveryTargetGivesTheSame) {
  const Case one{.batch = 2,
                 .channels = 40,
                 .filters = 56,
                 .height = 13,
                 .width = 10,
                 .residual = true,
                 .activation = "Relu"};
  const Tensors given = Draw(one);
  const std::vector<double> sums = Sums(one, given);
  const Floats expected = ElementsOf<float>(Expected(one, given, sums));
  const int64_t all = hwy::SupportedTargets() & (HWY_AVX3 | HWY_AVX2 | HWY_EMU128 | HWY_SCALAR);
  for (int64_t left = all; left != 0; left &= left - 1) {
    hwy::SetSupportedTargetsForTest(left & -left);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    for (const int results : {2, 4}) {
      HeapPackedWeights weights;
      const auto prepared = PrepareCase(one, given, weights, results);
      EXPECT_LT(Error(*prepared->Run(), expected, Largest(sums)), 1e-5)
          << "target " << (left & -left);
    }
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

}  // namespace winograd_convolution_test
}  // namespace plimsoll::kernels::cpu
