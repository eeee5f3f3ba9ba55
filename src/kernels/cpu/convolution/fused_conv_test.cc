#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "kernels/blocking.h"
#include "kernels/cpu/prepared_node_for_tests.h"
#include "kernels/parallel.h"
#include "kernels/threads/region_runner.h"
#include "plimsoll/base/text.h"

namespace plimsoll::kernels::cpu {
namespace fused_conv_test {

using testing::FloatNear;
using testing::Pointwise;
using Floats = std::vector<float>;

OneNode Fused(std::string op, std::vector<std::pair<std::string, graph::Attribute>> attributes) {
  return {.op = std::move(op),
          .attributes = std::move(attributes),
          .outputs = 1,
          .domain = "plimsoll",
          .version = 1};
}

HostTensor Blocked(const HostTensor& plain) {
  const auto made = Fused("BlockChannels", {{"block", int64_t{BlockSize()}}}).Run({plain});
  EXPECT_TRUE(made.ok()) << (made.ok() ? "" : made.error().Text());
  return made.ok() ? (*made)[0] : plain;
}

Floats Unblocked(const Floats& blocked, const Dims& dims, int64_t channels) {
  const auto made =
      Fused("UnblockChannels", {{"channels", channels}}).Run({Numbers(dims, blocked)});
  EXPECT_TRUE(made.ok()) << (made.ok() ? "" : made.error().Text());
  return made.ok() ? ElementsOf<float>((*made)[0]) : Floats();
}

// By the definition.
Floats Convolution(const HostTensor& x, const HostTensor& w, const HostTensor& bias, int64_t group,
                   int64_t stride, int64_t pad) {
  const auto made = OneNode{.op = "Conv",
                            .attributes = {{"group", group},
                                           {"strides", std::vector<int64_t>{stride, stride}},
                                           {"pads", std::vector<int64_t>{pad, pad, pad, pad}}}}
                        .Run({x, w, bias});
  EXPECT_TRUE(made.ok()) << (made.ok() ? "" : made.error().Text());
  return made.ok() ? ElementsOf<float>((*made)[0]) : Floats();
}

struct ConvolutionCase {
  int64_t channels, filters, group, kernel, stride;
  bool input_blocked, output_blocked;
};

std::vector<std::pair<std::string, graph::Attribute>> AttributesOf(const ConvolutionCase& one) {
  const int64_t pad = one.kernel / 2;
  return {{"group", one.group},
          {"strides", std::vector<int64_t>{one.stride, one.stride}},
          {"pads", std::vector<int64_t>{pad, pad, pad, pad}},
          {"channels", one.channels},
          {"block", int64_t{BlockSize()}},
          {"input_blocked", int64_t{one.input_blocked}},
          {"output_blocked", int64_t{one.output_blocked}}};
}

TEST(FusedConvTest, GivesWhatConvAndAddAndReluGiveInEveryForm) {
  const ConvolutionCase cases[] = {
      {16, 32, 1, 3, 1, true, true},  {16, 32, 1, 1, 2, true, true}, {3, 16, 1, 7, 2, false, true},
      {24, 24, 24, 3, 1, true, true}, {12, 20, 1, 3, 1, true, true}, {20, 20, 20, 3, 2, true, true},
      {16, 16, 4, 3, 1, true, true},  {16, 8, 1, 1, 1, true, false}, {16, 8, 1, 3, 1, false, true},
      {5, 7, 1, 3, 1, false, false},
  };
  for (const ConvolutionCase& one : cases) {
    const HostTensor x = Wavy({2, one.channels, 9, 11});
    const HostTensor w = Wavy({one.filters, one.channels / one.group, one.kernel, one.kernel}, 1);
    const HostTensor bias = Wavy({one.filters}, 2);
    Floats expected = Convolution(x, w, bias, one.group, one.stride, one.kernel / 2);
    const int64_t height = (9 + one.kernel / 2 * 2 - one.kernel) / one.stride + 1;
    const int64_t width = (11 + one.kernel / 2 * 2 - one.kernel) / one.stride + 1;
    const HostTensor residual = Wavy({2, one.filters, height, width}, 3);
    const Floats added = ElementsOf<float>(residual);
    for (size_t i = 0; i < expected.size(); ++i) {
      expected[i] = std::max(expected[i] + added[i], 0.0f);
    }
    auto attributes = AttributesOf(one);
    attributes.emplace_back("activation", std::string("Relu"));
    HeapPackedWeights weights;
    const auto prepared = Prepare(Fused("FusedConv", attributes),
                                  {one.input_blocked ? Blocked(x) : x, w, bias,
                                   one.output_blocked ? Blocked(residual) : residual},
                                  {1, 2}, &weights);
    ASSERT_TRUE(prepared.ok()) << prepared.error().Text();
    for (const int over : {-1, 3}) {
      const auto made = prepared->Run(over);
      ASSERT_TRUE(made.ok()) << made.error().Text();
      const Floats plain =
          one.output_blocked ? Unblocked(*made, prepared->output, one.filters) : *made;
      EXPECT_THAT(plain, Pointwise(FloatNear(1e-4f), expected))
          << one.channels << " channels, " << one.filters << " filters, over " << over;
    }
  }
}

TEST(FusedConvTest, AppliesEachActivationAsTheStandardDefinesIt) {
  struct ActivationCase {
    std::string name;
    double alpha, beta;
    double (*function)(double);
  };
  const ActivationCase cases[] = {
      {"LeakyRelu", 0.1, 0, [](double x) { return x < 0 ? 0.1 * x : x; }},
      {"Clip", -0.25, 0.5, [](double x) { return std::clamp(x, -0.25, 0.5); }},
      {"Elu", 0.5, 0, [](double x) { return x < 0 ? 0.5 * std::expm1(x) : x; }},
      {"Sigmoid", 0, 0, [](double x) { return 1 / (1 + std::exp(-x)); }},
      {"Tanh", 0, 0, [](double x) { return std::tanh(x); }},
      {"Swish", 1, 0, [](double x) { return x / (1 + std::exp(-x)); }},
      {"HardSigmoid", 0.2, 0.5, [](double x) { return std::clamp(0.2 * x + 0.5, 0.0, 1.0); }},
      {"HardSwish", 0, 0, [](double x) { return x * std::clamp(x / 6 + 0.5, 0.0, 1.0); }},
      {"Gelu", 0, 0, [](double x) { return x / 2 * (1 + std::erf(x / std::sqrt(2.0))); }},
      {"GeluTanh", 0, 0,
       [](double x) {
         return x / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
       }},
      {"Mish", 0, 0, [](double x) { return x * std::tanh(std::log1p(std::exp(x))); }},
  };
  const ConvolutionCase shape{16, 12, 1, 3, 1, true, true};
  const HostTensor x = Wavy({1, 16, 6, 6});
  const HostTensor w = Wavy({12, 16, 3, 3}, 1);
  const HostTensor bias = Wavy({12}, 2);
  const Floats sums = Convolution(x, w, bias, 1, 1, 1);
  for (const ActivationCase& one : cases) {
    auto attributes = AttributesOf(shape);
    attributes.emplace_back("activation", one.name);
    attributes.emplace_back("activation_alpha", one.alpha);
    attributes.emplace_back("activation_beta", one.beta);
    const auto prepared = Prepare(Fused("FusedConv", attributes), {Blocked(x), w, bias});
    ASSERT_TRUE(prepared.ok()) << one.name << ": " << prepared.error().Text();
    const auto made = prepared->Run();
    ASSERT_TRUE(made.ok());
    Floats expected;
    for (const float sum : sums) expected.push_back(static_cast<float>(one.function(sum)));
    EXPECT_THAT(Unblocked(*made, prepared->output, 12), Pointwise(FloatNear(1e-4f), expected))
        << one.name;
    // Channels beyond the last stay zero even where the function of zero is not.
    const int64_t block = BlockSize();
    const int64_t places = 36;
    for (int64_t i = 0; i < places * block; ++i) {
      const int64_t channel = 12 / block * block + i % block;
      if (channel < 12) continue;
      EXPECT_EQ((*made)[static_cast<size_t>(12 / block * places * block + i)], 0.0f) << one.name;
    }
  }
}

TEST(FusedConvTest, OnePreparedKernelRunsInSeveralThreads) {
  auto attributes = AttributesOf({32, 32, 1, 3, 1, true, true});
  HeapPackedWeights weights;
  const auto prepared =
      Prepare(Fused("FusedConv", attributes),
              {Blocked(Wavy({1, 32, 12, 12})), Wavy({32, 32, 3, 3}, 1)}, {1}, &weights);
  ASSERT_TRUE(prepared.ok()) << prepared.error().Text();
  const Floats expected = *prepared->Run();
  std::vector<Floats> made(4);
  std::vector<std::thread> threads;
  for (Floats& one : made) {
    threads.emplace_back([&] {
      for (int round = 0; round < 8; ++round) one = *prepared->Run();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Floats& one : made) EXPECT_EQ(one, expected);
}

// Runs parts one after the other, so that none can wait for another.
class PartsApart final : public RegionRunner {
 public:
  void Run(const Region& region) override {
    most = std::max(most, region.parts);
    for (int part = region.parts; part-- > 0;) region.body(part, 0, region.context);
  }
  int most = 0;
};

TEST(FusedConvTest, ConvolutionsAreCutInMorePartsThanThreadsAsFarAsEachIsWorthIt) {
  struct PartsCase {
    ConvolutionCase convolution;
    int64_t image;
    bool is_cut;
  };
  const PartsCase cases[] = {
      {{256, 512, 1, 1, 1, true, true}, 48, true},   {{64, 64, 1, 3, 1, true, true}, 25, true},
      {{128, 128, 1, 1, 2, true, true}, 57, true},   {{3, 64, 1, 7, 2, false, true}, 97, true},
      {{480, 480, 480, 5, 1, true, true}, 27, true}, {{32, 32, 1, 3, 1, true, true}, 9, false},
  };
  for (const PartsCase& one : cases) {
    const ConvolutionCase& given = one.convolution;
    const HostTensor plain = Wavy({1, given.channels, one.image, one.image});
    const HostTensor x = given.input_blocked ? Blocked(plain) : plain;
    const HostTensor w =
        Wavy({given.filters, given.channels / given.group, given.kernel, given.kernel}, 1);
    const auto run = [&](int threads, int& most) {
      const ThreadScope scope(threads);
      HeapPackedWeights weights;
      const auto prepared = Prepare(Fused("FusedConv", AttributesOf(given)), {x, w}, {1}, &weights);
      EXPECT_TRUE(prepared.ok()) << (prepared.ok() ? "" : prepared.error().Text());
      if (!prepared.ok()) return Floats();
      const Floats made = *prepared->Run();
      PartsApart apart;
      const RegionRunnerScope runs(apart);
      EXPECT_EQ(*prepared->Run(), made) << "one part after the other";
      most = apart.most;
      return made;
    };
    int most = 0;
    const Floats expected = run(1, most);
    for (const int threads : {2, 3}) {
      EXPECT_THAT(run(threads, most), Pointwise(FloatNear(1e-4f), expected));
      EXPECT_EQ(most > threads, one.is_cut)
          << given.channels << " channels, " << given.kernel << " x " << given.kernel << ", "
          << most << " parts for " << threads << " threads";
    }
  }
}

TEST(FusedConvTest, EqualWeightsArePackedOnce) {
  const auto attributes = AttributesOf({32, 32, 1, 3, 1, true, true});
  const HostTensor x = Blocked(Wavy({1, 32, 12, 12}));
  const HostTensor w = Wavy({32, 32, 3, 3}, 1);
  HeapPackedWeights weights;
  ASSERT_TRUE(Prepare(Fused("FusedConv", attributes), {x, w}, {1}, &weights).ok());
  ASSERT_TRUE(Prepare(Fused("FusedConv", attributes), {x, w}, {1}, &weights).ok());
  EXPECT_EQ(weights.size(), 1u);
}

TEST(FusedConvTest, TensorsThatAreNotBlockedForThisMachineAreRefused) {
  auto attributes = AttributesOf({32, 32, 1, 3, 1, true, false});
  const auto prepared =
      Prepare(Fused("FusedConv", attributes), {Wavy({1, 8, 6, 6, 4}), Wavy({32, 32, 3, 3})});
  ASSERT_FALSE(prepared.ok());
  EXPECT_EQ(prepared.error().code, "kernel.input");
}

TEST(FusedPoolTest, GivesWhatThePlainPoolsGive) {
  struct PoolCase {
    std::string kind;
    bool counts_pads;
  };
  const HostTensor x = Wavy({2, 20, 9, 9});
  for (const PoolCase& one :
       {PoolCase{"MaxPool", false}, PoolCase{"AveragePool", false}, PoolCase{"AveragePool", true},
        PoolCase{"GlobalAveragePool", false}}) {
    std::vector<std::pair<std::string, graph::Attribute>> attributes;
    if (one.kind != "GlobalAveragePool") {
      attributes = {{"kernel_shape", std::vector<int64_t>{3, 3}},
                    {"strides", std::vector<int64_t>{2, 2}},
                    {"pads", std::vector<int64_t>{1, 1, 1, 1}}};
    }
    if (one.counts_pads) attributes.emplace_back("count_include_pad", int64_t{1});
    const auto plain = OneNode{.op = one.kind, .attributes = attributes}.Run({x});
    ASSERT_TRUE(plain.ok()) << plain.error().Text();
    attributes.emplace_back("kind", one.kind);
    attributes.emplace_back("channels", int64_t{20});
    attributes.emplace_back("block", int64_t{BlockSize()});
    const auto prepared = Prepare(Fused("FusedPool", attributes), {Blocked(x)});
    ASSERT_TRUE(prepared.ok()) << prepared.error().Text();
    EXPECT_THAT(Unblocked(*prepared->Run(), prepared->output, 20),
                Pointwise(FloatNear(1e-5f), ElementsOf<float>((*plain)[0])))
        << one.kind;
  }
}

TEST(ChannelBlocksTest, ChannelsComeBackAsTheyWere) {
  for (const Dims& dims : {Dims{2, 5, 3, 4}, Dims{1, 32, 7}, Dims{1, 17, 2, 3, 2}}) {
    const HostTensor plain = Wavy(dims);
    const HostTensor blocked = Blocked(plain);
    EXPECT_EQ(blocked.dims.back(), BlockSize());
    EXPECT_EQ(Unblocked(ElementsOf<float>(blocked), blocked.dims, dims[1]),
              ElementsOf<float>(plain));
  }
}

// A layout fixed wrongly makes oneDNN fall back to code that is tens of times slower.
TEST(HotPrimitivesTest, NoneFallsBackToAReferenceImplementation) {
  struct LayerCase {
    ConvolutionCase convolution;
    int64_t size;
  };
  const LayerCase layers[] = {
      {{3, 64, 1, 7, 2, false, true}, 112},  {{3, 32, 1, 3, 2, false, true}, 112},
      {{64, 64, 1, 1, 1, true, true}, 28},   {{64, 64, 1, 3, 1, true, true}, 28},
      {{64, 256, 1, 1, 2, true, true}, 28},  {{512, 512, 1, 3, 1, true, true}, 7},
      {{96, 96, 96, 3, 1, true, true}, 28},  {{144, 144, 144, 3, 2, true, true}, 28},
      {{72, 72, 72, 5, 2, true, true}, 28},  {{100, 60, 1, 3, 1, true, true}, 14},
      {{64, 64, 1, 3, 1, false, false}, 28}, {{64, 64, 64, 3, 1, false, false}, 28},
  };
  for (const LayerCase& layer : layers) {
    const ConvolutionCase& one = layer.convolution;
    const HostTensor x = Wavy({1, one.channels, layer.size, layer.size});
    const HostTensor w = Wavy({one.filters, one.channels / one.group, one.kernel, one.kernel}, 1);
    for (const std::string activation : {"", "Relu", "Clip", "HardSwish", "Swish"}) {
      auto attributes = AttributesOf(one);
      attributes.emplace_back("activation", activation);
      HeapPackedWeights weights;
      const auto prepared = Prepare(Fused("FusedConv", attributes),
                                    {one.input_blocked ? Blocked(x) : x, w}, {1}, &weights);
      ASSERT_TRUE(prepared.ok()) << prepared.error().Text();
      EXPECT_THAT(std::string(prepared->kernel->implementation()),
                  testing::Not(testing::HasSubstr("ref")))
          << one.channels << "x" << layer.size << " to " << one.filters << ", kernel " << one.kernel
          << ", " << activation;
    }
  }
  for (const std::string kind : {"MaxPool", "AveragePool", "GlobalAveragePool"}) {
    const auto prepared = Prepare(Fused("FusedPool", {{"kind", kind},
                                                      {"channels", int64_t{64}},
                                                      {"block", int64_t{BlockSize()}},
                                                      {"kernel_shape", std::vector<int64_t>{3, 3}},
                                                      {"strides", std::vector<int64_t>{2, 2}}}),
                                  {Blocked(Wavy({1, 64, 28, 28}))});
    ASSERT_TRUE(prepared.ok()) << prepared.error().Text();
    EXPECT_THAT(std::string(prepared->kernel->implementation()),
                testing::Not(testing::HasSubstr("ref")))
        << kind;
  }
}

}  // namespace fused_conv_test
}  // namespace plimsoll::kernels::cpu
