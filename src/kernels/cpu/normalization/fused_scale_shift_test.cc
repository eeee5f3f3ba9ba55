#include <algorithm>
#include <cmath>

#include "kernels/blocking.h"
#include "kernels/cpu/definitions_for_tests.h"
#include "kernels/parallel.h"

namespace plimsoll::kernels::cpu {
namespace fused_scale_shift_test {

OneNode Ours(std::string op, Attributes attributes) {
  return {.op = std::move(op),
          .attributes = std::move(attributes),
          .outputs = 1,
          .domain = "plimsoll",
          .version = 1};
}

TEST(FusedScaleShiftTest, EveryChannelHasItsOwnLine) {
  const Dims shapes[] = {{2, 5, 3, 7}, {1, 24, 40, 60}, {3, 19}, {2, 3, 5000}, {1, 16, 1, 1}};
  for (const int threads : {1, 3}) {
    const ThreadScope scope(threads);
    for (const Dims& dims : shapes) {
      const HostTensor x = Wavy(dims);
      const HostTensor scale = Wavy({dims[1]}, 1);
      const HostTensor shift = Wavy({dims[1]}, 2);
      const auto sigmoid = [&](const Place& place) {
        const double line = At(x, place) * At(scale, {place[1]}) + At(shift, {place[1]});
        return 1 / (1 + std::exp(-line));
      };
      ExpectDefinition(Ours("FusedScaleShift", {{"activation", std::string("Sigmoid")}}),
                       {x, scale, shift}, dims, sigmoid);
    }
  }
}

TEST(FusedScaleShiftTest, OfBlockedChannelsThoseBehindTheLastStayZero) {
  for (const int64_t channels : {int64_t{BlockSize()}, int64_t{BlockSize()} + 3, int64_t{5}}) {
    const HostTensor x = Wavy({2, channels, 6, 9});
    const HostTensor scale = Wavy({channels}, 1);
    const HostTensor shift = Wavy({channels}, 2);
    const OneNode block = Ours("BlockChannels", {{"block", int64_t{BlockSize()}}});
    const HostTensor plain = MustMake(
        Ours("FusedScaleShift", {{"activation", std::string("Sigmoid")}}), {x, scale, shift})[0];
    const HostTensor expected = MustMake(block, {plain})[0];
    const HostTensor made =
        MustMake(Ours("FusedScaleShift", {{"activation", std::string("Sigmoid")},
                                          {"input_blocked", int64_t{1}},
                                          {"channels", channels},
                                          {"block", int64_t{BlockSize()}}}),
                 {MustMake(block, {x})[0], scale, shift})[0];
    ASSERT_EQ(made.dims, expected.dims);
    ForEachPlace(made.dims, [&](const Place& place) {
      ASSERT_NEAR(At(made, place), At(expected, place), 1e-6) << channels;
    });
  }
}

TEST(FusedScaleShiftTest, AVectorOfAnotherLengthIsRefused) {
  EXPECT_FALSE(Ours("FusedScaleShift", {}).Run({Wavy({1, 4, 3, 3}), Wavy({3}), Wavy({4})}).ok());
}

}  // namespace fused_scale_shift_test
}  // namespace plimsoll::kernels::cpu
