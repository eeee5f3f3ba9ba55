#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>
#include <utility>

#include "kernels/blocking.h"
#include "kernels/cpu/convolution/blocked_channels_for_tests.h"
#include "kernels/cpu/prepared_node_for_tests.h"
#include "kernels/parallel.h"
#include "plimsoll/base/text.h"

namespace plimsoll::kernels::cpu {
namespace row_convolution_test {

using Floats = std::vector<float>;
using Ints = std::vector<int64_t>;

struct Drawn {
  int64_t batch, channels, filters, group, height, width, kernel_height, kernel_width;
  Ints strides, pads, dilations;
  bool blocked, output_blocked, residual, relu;

  int64_t OutHeight() const {
    return (height + pads[0] + pads[2] - (kernel_height - 1) * dilations[0] - 1) / strides[0] + 1;
  }
  int64_t OutWidth() const {
    return (width + pads[1] + pads[3] - (kernel_width - 1) * dilations[1] - 1) / strides[1] + 1;
  }
  std::string Text() const {
    return StrCat(batch, "x", channels, "x", height, "x", width, " by ", filters, "x",
                  channels / group, "x", kernel_height, "x", kernel_width, " strides ", strides[0],
                  " ", strides[1], " dilations ", dilations[0], " ", dilations[1],
                  blocked ? " blocked" : "", residual ? " residual" : "");
  }
};

Drawn Draw(uint32_t seed) {
  std::mt19937 random(seed);
  const auto between = [&](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random() % static_cast<uint32_t>(high - low + 1));
  };
  Drawn drawn{};
  drawn.batch = between(1, 2);
  drawn.group = between(0, 3) == 0 ? 2 : 1;
  drawn.channels = between(1, 5) * drawn.group;
  drawn.filters = between(1, 3) * drawn.group;
  drawn.kernel_height = between(1, 4);
  drawn.kernel_width = between(0, 2) == 0 ? between(20, 40) : between(1, 6);
  drawn.strides = {between(1, 3), between(0, 1) == 0 ? 1 : between(1, 5)};
  drawn.dilations = {between(0, 3) == 0 ? between(2, 3) : 1, between(1, 3)};
  drawn.pads = {between(0, 2), between(0, 3), between(0, 2), between(0, 3)};
  drawn.height = (drawn.kernel_height - 1) * drawn.dilations[0] + 1 + between(0, 6);
  drawn.width =
      (drawn.kernel_width - 1) * drawn.dilations[1] + 1 + between(15, 120) * drawn.strides[1];
  if (seed % 8 == 0) drawn.width += 5000 * drawn.strides[1];
  drawn.blocked = drawn.group == 1 && between(0, 2) == 0;
  drawn.output_blocked = drawn.group == 1 && between(0, 2) == 0;
  drawn.residual = between(0, 1) == 0;
  drawn.relu = between(0, 1) == 0;
  return drawn;
}

// Kernels of one tap over images whose places are several stretches of a row.
Drawn DrawSinglePlaces(uint32_t seed) {
  Drawn drawn = Draw(seed);
  std::mt19937 random(seed);
  drawn.group = 1;
  drawn.kernel_height = drawn.kernel_width = 1;
  drawn.strides = drawn.dilations = {1, 1};
  drawn.pads = {0, 0, 0, 0};
  drawn.channels = 2 + static_cast<int64_t>(random() % 40);
  drawn.filters = 5 + static_cast<int64_t>(random() % 9);
  drawn.height = 1 + static_cast<int64_t>(random() % 40);
  drawn.width = 8 + static_cast<int64_t>(random() % 60);
  return drawn;
}

// One filter or a few for each channel.
Drawn DrawDepthwise(uint32_t seed) {
  std::mt19937 random(seed);
  const auto between = [&](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random() % static_cast<uint32_t>(high - low + 1));
  };
  Drawn drawn{};
  drawn.batch = between(1, 2);
  drawn.channels = drawn.group = between(2, 21);
  drawn.blocked = between(0, 2) == 0;
  drawn.output_blocked = between(0, 2) == 0;
  drawn.filters = drawn.channels * (drawn.output_blocked ? 1 : between(1, 2));
  drawn.kernel_height = between(1, 9);
  drawn.kernel_width = between(0, 9) == 0 ? between(20, 40) : between(1, 9);
  drawn.strides = {between(1, 3), between(1, 4)};
  drawn.dilations = {between(0, 1) == 0 ? 1 : between(2, 12),
                     between(0, 1) == 0 ? 1 : between(2, 12)};
  const int64_t high = (drawn.kernel_height - 1) * drawn.dilations[0] + 1;
  const int64_t wide = (drawn.kernel_width - 1) * drawn.dilations[1] + 1;
  drawn.height = between(1, 40);
  drawn.width = seed % 40 == 0 ? 4500 : between(1, 40);
  const auto pad = [&](int64_t extent, int64_t size) {
    const int64_t needed = std::max<int64_t>(extent - size, 0);
    const int64_t all = needed + between(0, extent);
    return std::pair(all / 2, all - all / 2);
  };
  const auto [top, bottom] = pad(high, drawn.height);
  const auto [left, right] = pad(wide, drawn.width);
  drawn.pads = {top, left, bottom, right};
  drawn.residual = between(0, 1) == 0;
  drawn.relu = between(0, 1) == 0;
  return drawn;
}

// Windows that reach far beyond a small image, over enough filters for products.
Drawn DrawDilated(uint32_t seed) {
  std::mt19937 random(seed);
  const auto between = [&](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random() % static_cast<uint32_t>(high - low + 1));
  };
  Drawn drawn{};
  drawn.batch = between(1, 2);
  drawn.group = between(0, 3) == 0 ? 2 : 1;
  drawn.channels = between(1, 21) * drawn.group;
  drawn.filters = between(9, 20) * drawn.group;
  drawn.kernel_height = between(1, 3);
  drawn.kernel_width = 3 + between(0, 1);
  drawn.strides = {between(0, 2) == 0 ? 2 : 1, between(0, 2) == 0 ? 2 : 1};
  drawn.dilations = {between(1, 20), between(5, 24)};
  drawn.height = between(8, 24);
  drawn.width = between(12, 24);
  for (const int64_t reach : {(drawn.kernel_height - 1) * drawn.dilations[0],
                              (drawn.kernel_width - 1) * drawn.dilations[1]}) {
    drawn.pads.push_back(reach / 2);
  }
  drawn.pads = {drawn.pads[0], drawn.pads[1], drawn.pads[0], drawn.pads[1]};
  drawn.blocked = between(0, 2) == 0;
  drawn.output_blocked = between(0, 2) == 0;
  drawn.residual = between(0, 1) == 0;
  drawn.relu = between(0, 1) == 0;
  return drawn;
}

// By the definition, in double.
Floats Expected(const Drawn& drawn, const Floats& x, const Floats& w, const Floats& bias,
                const Floats& residual) {
  const int64_t channels = drawn.channels / drawn.group;
  Floats out;
  for (int64_t n = 0; n < drawn.batch; ++n) {
    for (int64_t f = 0; f < drawn.filters; ++f) {
      for (int64_t i = 0; i < drawn.OutHeight() * drawn.OutWidth(); ++i) {
        double sum = bias[static_cast<size_t>(f)];
        for (int64_t k = 0; k < channels * drawn.kernel_height * drawn.kernel_width; ++k) {
          const int64_t kx = k % drawn.kernel_width;
          const int64_t ky = k / drawn.kernel_width % drawn.kernel_height;
          const int64_t c = k / drawn.kernel_width / drawn.kernel_height;
          const int64_t y =
              i / drawn.OutWidth() * drawn.strides[0] + ky * drawn.dilations[0] - drawn.pads[0];
          const int64_t at =
              i % drawn.OutWidth() * drawn.strides[1] + kx * drawn.dilations[1] - drawn.pads[1];
          if (y < 0 || y >= drawn.height || at < 0 || at >= drawn.width) continue;
          const int64_t channel = f / (drawn.filters / drawn.group) * channels + c;
          const int64_t place =
              ((n * drawn.channels + channel) * drawn.height + y) * drawn.width + at;
          sum +=
              double{x[static_cast<size_t>(place)]} *
              w[static_cast<size_t>(f * channels * drawn.kernel_height * drawn.kernel_width + k)];
        }
        if (drawn.residual) sum += residual[out.size()];
        out.push_back(static_cast<float>(drawn.relu ? std::max(sum, 0.0) : sum));
      }
    }
  }
  return out;
}

OneNode FusedNode(const Drawn& drawn) {
  OneNode node{.op = "FusedConv",
               .attributes = {{"group", drawn.group},
                              {"strides", drawn.strides},
                              {"pads", drawn.pads},
                              {"dilations", drawn.dilations},
                              {"channels", drawn.channels},
                              {"block", int64_t{BlockSize()}},
                              {"input_blocked", int64_t{drawn.blocked}},
                              {"output_blocked", int64_t{drawn.output_blocked}}},
               .outputs = 1,
               .domain = "plimsoll",
               .version = 1};
  if (drawn.relu) node.attributes.emplace_back("activation", std::string("Relu"));
  return node;
}

void RunOne(const Drawn& drawn, uint32_t seed, std::string& served) {
  constexpr int kThreads[] = {16, 1, 2, 5};
  const ThreadScope threads(kThreads[seed % std::size(kThreads)]);
  SCOPED_TRACE(StrCat("seed ", seed, ", ", Threads(), " threads: ", drawn.Text()));
  const Dims shape = {drawn.batch, drawn.channels, drawn.height, drawn.width};
  const HostTensor x = Wavy(shape);
  const HostTensor w = Wavy(
      {drawn.filters, drawn.channels / drawn.group, drawn.kernel_height, drawn.kernel_width}, 1);
  const HostTensor bias = Wavy({drawn.filters}, 2);
  const HostTensor residual =
      Wavy({drawn.batch, drawn.filters, drawn.OutHeight(), drawn.OutWidth()}, 3);
  const HostTensor data = drawn.blocked ? Blocked(x) : x;
  const OneNode node = FusedNode(drawn);
  std::vector<HostTensor> inputs = {data, w, bias};
  if (drawn.residual) inputs.push_back(drawn.output_blocked ? Blocked(residual) : residual);
  const auto prepared = Prepare(node, inputs);
  ASSERT_TRUE(prepared.ok()) << prepared.error().Text();
  SCOPED_TRACE(prepared->kernel->implementation());
  served = prepared->kernel->implementation();
  const Floats expected = Expected(drawn, ElementsOf<float>(x), ElementsOf<float>(w),
                                   ElementsOf<float>(bias), ElementsOf<float>(residual));
  for (const int over : drawn.residual ? std::vector<int>{-1, 3} : std::vector<int>{-1}) {
    const auto made = prepared->Run(over);
    ASSERT_TRUE(made.ok()) << made.error().Text();
    const Floats got =
        drawn.output_blocked ? Unblocked(*made, prepared->output, drawn.filters) : *made;
    ASSERT_EQ(got.size(), expected.size());
    for (size_t i = 0; i < got.size(); ++i) {
      ASSERT_NEAR(got[i], expected[i], 1e-4 * (1 + std::abs(expected[i]))) << "element " << i;
    }
  }
}

// Which kernels gave what the definition gives, and how often; empty after a failure.
std::map<std::string, int> RunDrawn(Drawn (*draw)(uint32_t seed), uint32_t seeds) {
  std::map<std::string, int> served;
  for (uint32_t seed = 0; seed < seeds; ++seed) {
    std::string kernel;
    RunOne(draw(seed), seed, kernel);
    if (testing::Test::HasFatalFailure()) return {};
    ++served[kernel];
  }
  return served;
}

TEST(RowConvolutionTest, FewFiltersGiveWhatTheDefinitionGives) {
  EXPECT_GT(RunDrawn(Draw, 120)["ours:rows"], 80);
}

TEST(RowConvolutionTest, KernelsOfOneTapGiveWhatTheDefinitionGives) {
  EXPECT_GT(RunDrawn(DrawSinglePlaces, 40)["ours:rows"], 20);
}

TEST(RowConvolutionTest, FiltersOfOneChannelGiveWhatTheDefinitionGives) {
  EXPECT_GT(RunDrawn(DrawDepthwise, 160)["ours:depthwise"], 100);
}

TEST(RowConvolutionTest, WindowsThatMostlyMeetPaddingGiveWhatTheDefinitionGives) {
  EXPECT_GT(RunDrawn(DrawDilated, 120)["ours:live taps"], 60);
}

struct Kind {
  std::string name;
  Drawn shape;
  std::string own;  // what serves where data is plain; empty: whatever is fast
};

// One of each kind of convolution that networks spend their time in.
std::vector<Kind> Kinds() {
  std::vector<Kind> kinds;
  const auto add = [&](std::string name, int64_t channels, int64_t filters, int64_t group,
                       Ints image, Ints kernel, Ints strides, Ints dilations, Ints pads,
                       std::string own = "") {
    kinds.push_back({std::move(name),
                     {.batch = 1,
                      .channels = channels,
                      .filters = filters,
                      .group = group,
                      .height = image[0],
                      .width = image[1],
                      .kernel_height = kernel[0],
                      .kernel_width = kernel[1],
                      .strides = std::move(strides),
                      .pads = std::move(pads),
                      .dilations = std::move(dilations),
                      .blocked = false,
                      .output_blocked = false,
                      .residual = false,
                      .relu = true},
                     std::move(own)});
  };
  add("plain", 64, 64, 1, {28, 28}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1});
  add("1x1", 96, 24, 1, {28, 28}, {1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0});
  add("first", 3, 32, 1, {96, 96}, {7, 7}, {2, 2}, {1, 1}, {3, 3, 3, 3});
  add("one channel", 1, 12, 1, {96, 96}, {5, 5}, {1, 1}, {1, 1}, {2, 2, 2, 2});
  add("few filters", 32, 3, 1, {64, 64}, {7, 7}, {1, 1}, {1, 1}, {3, 3, 3, 3}, "ours:rows");
  add("1x1, channels that fill no blocks", 52, 116, 1, {40, 40}, {1, 1}, {1, 1}, {1, 1},
      {0, 0, 0, 0}, "ours:rows");
  add("3x3, channels that fill no blocks", 9, 20, 1, {56, 56}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1},
      "ours:rows");
  add("odd channels", 27, 21, 1, {17, 19}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1});
  add("one axis", 40, 64, 1, {1, 1600}, {1, 15}, {1, 1}, {1, 1}, {0, 7, 0, 7});
  add("one axis, wide strides", 1, 64, 1, {1, 8000}, {1, 80}, {1, 5}, {1, 1}, {0, 0, 0, 0});
  for (const int64_t rate : {2, 4, 6, 12, 24, 36}) {
    add(StrCat("dilated ", rate), 64, 64, 1, {28, 28}, {3, 3}, {1, 1}, {rate, rate},
        {rate, rate, rate, rate}, rate >= 12 ? "ours:direct" : "");
  }
  for (const int64_t stride : {1, 2, 3}) {
    for (const int64_t kernel : {3, 4, 5, 7, 9}) {
      add(StrCat("depthwise ", kernel, " stride ", stride), 40, 40, 40, {20, 23}, {kernel, kernel},
          {stride, stride}, {1, 1}, {0, kernel / 2, kernel - 1, 1}, "ours:depthwise");
    }
  }
  add("depthwise, dilated", 64, 64, 64, {17, 17}, {3, 3}, {1, 1}, {6, 6}, {6, 6, 6, 6},
      "ours:depthwise");
  add("depthwise, two filters each", 30, 60, 30, {24, 24}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1},
      "ours:depthwise");
  add("few groups", 54, 54, 2, {20, 20}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}, "ours:rows");
  add("many groups", 224, 192, 32, {14, 14}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}, "ours:rows");
  add("groups of blocks", 128, 128, 4, {14, 14}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1});
  return kinds;
}

// Whether there is room for whole images or none beyond the stack, whatever the forms and however
// many threads: no kind is left to a reference kernel, nor to a product that gathers its operand.
TEST(RowConvolutionTest, EveryKindIsServedByAFastKernel) {
  for (const Kind& kind : Kinds()) {
    for (int variant = 0; variant < 8; ++variant) {
      Drawn drawn = kind.shape;
      const bool groups = drawn.group > 1 && drawn.group < drawn.channels;
      drawn.blocked = (variant & 1) != 0 && !groups;
      drawn.output_blocked = (variant & 1) != 0 && !groups && drawn.filters == drawn.channels;
      const Bytes room = (variant & 2) != 0 ? Bytes() : Bytes(kSaturated);
      const ThreadScope threads((variant & 4) != 0 ? 2 : 1);
      const HostTensor x = Wavy({drawn.batch, drawn.channels, drawn.height, drawn.width});
      HeapPackedWeights weights;
      const auto prepared = Prepare(FusedNode(drawn),
                                    {drawn.blocked ? Blocked(x) : x,
                                     Wavy({drawn.filters, drawn.channels / drawn.group,
                                           drawn.kernel_height, drawn.kernel_width}),
                                     Wavy({drawn.filters})},
                                    {1, 2}, &weights, room);
      ASSERT_TRUE(prepared.ok()) << kind.name << ": " << prepared.error().Text();
      const std::string_view served = prepared->kernel->implementation();
      const std::string where = StrCat(kind.name, drawn.blocked ? ", blocked" : "", ", room ",
                                       room.value(), ", ", Threads(), " threads: ", served);
      EXPECT_EQ(served.find("ref"), std::string_view::npos) << where;
      EXPECT_EQ(served.find("gemm"), std::string_view::npos) << where;
      EXPECT_NE(served, "ours:product") << where;
      EXPECT_TRUE(kind.own.empty() || drawn.blocked || served == kind.own) << where;
    }
  }
}

TEST(RowConvolutionTest, DataThatComesAndGoesInBlocksStaysThere) {
  Drawn drawn = Kinds()[0].shape;
  drawn.channels = drawn.filters = 100;
  drawn.kernel_height = drawn.kernel_width = 1;
  drawn.pads = {0, 0, 0, 0};
  drawn.height = drawn.width = 40;
  drawn.blocked = drawn.output_blocked = true;
  std::string served;
  RunOne(drawn, 1, served);
  EXPECT_NE(served, "ours:rows");
}

// Images of so many columns that rows which run on are worth summing, and single ones are not: how
// many rows are summed at once depends on the threads, who serves must not.
TEST(RowConvolutionTest, WhereEveryBitCountsTheSameKernelServesAnyNumberOfThreads) {
  std::map<std::string_view, int> served;
  for (const int64_t height : {3, 5, 9, 12, 18}) {
    for (const int64_t width : {9, 17, 23}) {
      Drawn drawn = Kinds()[0].shape;
      drawn.channels = 16;
      drawn.filters = 3;
      drawn.height = height;
      drawn.width = width;
      const std::vector<HostTensor> inputs = {Wavy({1, 16, height, width}), Wavy({3, 16, 3, 3}, 1),
                                              Wavy({3}, 2)};
      std::string_view alone;
      Floats expected;
      for (const int threads : {1, 2, 3, 4, 5, 16}) {
        const ThreadScope scope(threads);
        HeapPackedWeights weights;
        const auto prepared =
            Prepare(FusedNode(drawn), inputs, {1, 2}, &weights, Bytes(kSaturated), true);
        ASSERT_TRUE(prepared.ok()) << prepared.error().Text();
        const auto made = prepared->Run();
        ASSERT_TRUE(made.ok()) << made.error().Text();
        const std::string_view kernel = prepared->kernel->implementation();
        if (threads == 1) {
          ++served[alone = kernel == "ours:rows" ? "ours:rows" : "another"];
          expected = *made;
        }
        EXPECT_EQ(kernel == "ours:rows", alone == "ours:rows")
            << drawn.Text() << ", " << threads << " threads: " << kernel;
        EXPECT_TRUE(*made == expected) << drawn.Text() << ", " << threads << " threads: " << kernel;
      }
    }
  }
  EXPECT_GE(served["ours:rows"], 5);
}

}  // namespace row_convolution_test
}  // namespace plimsoll::kernels::cpu
