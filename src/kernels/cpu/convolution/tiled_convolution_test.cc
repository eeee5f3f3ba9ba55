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

}  // namespace tiled_convolution_test
}  // namespace plimsoll::kernels::cpu
