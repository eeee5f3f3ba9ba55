#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "kernels/cpu/convolution/blocked_channels_for_tests.h"
#include "kernels/cpu/prepared_node_for_tests.h"
#include "kernels/parallel.h"
#include "plimsoll/base/text.h"

namespace plimsoll::kernels::cpu {
namespace row_volumes_test {

using Ints = std::vector<int64_t>;

// A convolution over three axes with few filters.
struct Volume {
  int64_t batch, channels, filters, group;
  Ints sizes, kernel, strides, dilations, pads;
  bool blocked, output_blocked, residual;

  OneNode Node(bool fused) const {
    OneNode node{
        .op = fused ? "FusedConv" : "Conv",
        .attributes = {
            {"group", group}, {"strides", strides}, {"pads", pads}, {"dilations", dilations}}};
    if (!fused) return node;
    node.domain = "plimsoll";
    node.version = 1;
    node.attributes.insert(node.attributes.end(), {{"channels", channels},
                                                   {"block", int64_t{BlockSize()}},
                                                   {"input_blocked", int64_t{blocked}},
                                                   {"output_blocked", int64_t{output_blocked}}});
    return node;
  }
};

Volume Draw(uint32_t seed) {
  std::mt19937 random(seed);
  const auto between = [&](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random() % static_cast<uint32_t>(high - low + 1));
  };
  Volume volume{};
  volume.batch = between(1, 2);
  volume.group = between(0, 3) == 0 ? 2 : 1;
  volume.channels = between(1, 4) * volume.group;
  volume.filters = between(1, 3) * volume.group;
  for (size_t axis = 0; axis < 3; ++axis) {
    volume.kernel.push_back(between(1, 3));
    volume.strides.push_back(between(1, 2));
    volume.dilations.push_back(between(0, 2) == 0 ? 2 : 1);
    volume.pads.push_back(between(0, 2));
    const int64_t reach = (volume.kernel[axis] - 1) * volume.dilations[axis] + 1;
    volume.sizes.push_back(reach + between(axis == 2 ? 12 : 0, axis == 2 ? 60 : 7));
  }
  for (int axis = 0; axis < 3; ++axis) volume.pads.push_back(between(0, 2));
  volume.blocked = volume.group == 1 && between(0, 3) == 0;
  volume.output_blocked = volume.group == 1 && between(0, 3) == 0;
  volume.residual = between(0, 1) == 0;
  return volume;
}

// One filter or two for each channel.
Volume DrawDepthwise(uint32_t seed) {
  Volume volume = Draw(seed);
  std::mt19937 random(seed);
  volume.channels = volume.group = 2 + static_cast<int64_t>(random() % 20);
  volume.blocked = volume.output_blocked = random() % 2 == 0;
  volume.filters = volume.channels * (volume.blocked || random() % 2 == 0 ? 1 : 2);
  return volume;
}

HostTensor AsDoubles(const HostTensor& floats) {
  HostTensor doubles = *AllocateOnHeap(graph::DataType::kFloat64, floats.dims);
  std::copy_n(static_cast<const float*>(floats.data.get()), floats.elements(),
              static_cast<double*>(doubles.data.get()));
  return doubles;
}

// Compared with the loops of the definition, in double.
void RunOne(const Volume& volume, std::string& served) {
  const auto dims = [](int64_t first, int64_t second, const Ints& rest) {
    Dims all = {first, second};
    all.insert(all.end(), rest.begin(), rest.end());
    return all;
  };
  const HostTensor x = Wavy(dims(volume.batch, volume.channels, volume.sizes));
  const HostTensor w = Wavy(dims(volume.filters, volume.channels / volume.group, volume.kernel), 1);
  const HostTensor bias = Wavy({volume.filters}, 2);
  const auto definition =
      Prepare(volume.Node(false), {AsDoubles(x), AsDoubles(w), AsDoubles(bias)});
  ASSERT_TRUE(definition.ok()) << definition.error().Text();
  std::vector<double> expected = *definition->Run<double>();
  const HostTensor residual = Wavy(definition->output, 3);
  for (size_t i = 0; volume.residual && i < expected.size(); ++i) {
    expected[i] += double{static_cast<const float*>(residual.data.get())[i]};
  }
  std::vector<HostTensor> inputs = {volume.blocked ? Blocked(x) : x, w, bias};
  if (volume.residual) inputs.push_back(volume.output_blocked ? Blocked(residual) : residual);
  HeapPackedWeights weights;
  const auto prepared = Prepare(volume.Node(true), inputs, {1, 2}, &weights);
  ASSERT_TRUE(prepared.ok()) << prepared.error().Text();
  served = prepared->kernel->implementation();
  SCOPED_TRACE(served);
  const auto made = prepared->Run();
  ASSERT_TRUE(made.ok()) << made.error().Text();
  const std::vector<float> got =
      volume.output_blocked ? Unblocked(*made, prepared->output, volume.filters) : *made;
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_NEAR(got[i], expected[i], 1e-4 * (1 + std::abs(expected[i]))) << "element " << i;
  }
}

// How often that kernel served.
int CountServed(Volume (*draw)(uint32_t seed), const std::string& kernel) {
  constexpr int kThreads[] = {1, 2, 5};
  int count = 0;
  for (uint32_t seed = 0; seed < 120; ++seed) {
    const ThreadScope threads(kThreads[seed % std::size(kThreads)]);
    SCOPED_TRACE(StrCat("seed ", seed));
    std::string served;
    RunOne(draw(seed), served);
    if (testing::Test::HasFatalFailure()) return 0;
    count += served == kernel ? 1 : 0;
  }
  return count;
}

TEST(RowVolumesTest, FewFiltersOverThreeAxesGiveWhatTheDefinitionGives) {
  EXPECT_GT(CountServed(Draw, "ours:rows"), 60);
}

TEST(RowVolumesTest, FiltersOfOneChannelOverThreeAxesGiveWhatTheDefinitionGives) {
  EXPECT_GT(CountServed(DrawDepthwise, "ours:depthwise"), 90);
}

}  // namespace row_volumes_test
}  // namespace plimsoll::kernels::cpu
