#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "kernels/blocking.h"
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
                  " ", strides[1], " dilation ", dilations[1], blocked ? " blocked" : "",
                  residual ? " residual" : "");
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
  drawn.dilations = {1, between(1, 3)};
  drawn.pads = {between(0, 2), between(0, 3), between(0, 2), between(0, 3)};
  drawn.height = drawn.kernel_height + between(0, 6);
  drawn.width =
      (drawn.kernel_width - 1) * drawn.dilations[1] + 1 + between(15, 120) * drawn.strides[1];
  if (seed % 8 == 0) drawn.width += 5000 * drawn.strides[1];
  drawn.blocked = drawn.group == 1 && between(0, 2) == 0;
  drawn.output_blocked = drawn.group == 1 && between(0, 2) == 0;
  drawn.residual = between(0, 1) == 0;
  drawn.relu = between(0, 1) == 0;
  return drawn;
}

HostTensor Blocked(const HostTensor& plain) {
  const OneNode node{.op = "BlockChannels",
                     .attributes = {{"block", int64_t{BlockSize()}}},
                     .outputs = 1,
                     .domain = "plimsoll",
                     .version = 1};
  return (*node.Run({plain}))[0];
}

Floats Unblocked(const Floats& blocked, const Dims& dims, int64_t channels) {
  const OneNode node{.op = "UnblockChannels",
                     .attributes = {{"channels", channels}},
                     .outputs = 1,
                     .domain = "plimsoll",
                     .version = 1};
  return ElementsOf<float>((*node.Run({Numbers(dims, blocked)}))[0]);
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
          const int64_t y = i / drawn.OutWidth() * drawn.strides[0] + ky - drawn.pads[0];
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

TEST(RowConvolutionTest, FewFiltersGiveWhatTheDefinitionGives) {
  int by_rows = 0;
  for (uint32_t seed = 0; seed < 120; ++seed) {
    const Drawn drawn = Draw(seed);
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
    std::vector<HostTensor> inputs = {data, w, bias};
    if (drawn.residual) inputs.push_back(drawn.output_blocked ? Blocked(residual) : residual);
    const auto prepared = Prepare(node, inputs);
    ASSERT_TRUE(prepared.ok()) << prepared.error().Text();
    SCOPED_TRACE(prepared->kernel->implementation());
    by_rows += prepared->kernel->implementation() == "ours:rows" ? 1 : 0;
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
  EXPECT_GT(by_rows, 80);
}

}  // namespace row_convolution_test
}  // namespace plimsoll::kernels::cpu
