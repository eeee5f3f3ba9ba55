#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "kernels/cpu/one_node.h"

namespace plimsoll::kernels::cpu {
namespace byte_pool_test {

uint8_t PooledElement(const OneNode& node, const std::vector<uint8_t>& elements, float x_scale,
                      uint8_t x_zero, float y_scale, uint8_t y_zero) {
  const Dims dims{1, 1, 1, static_cast<int64_t>(elements.size())};
  const auto made = node.Run({Numbers<uint8_t>(dims, elements), Numbers<float>({}, {x_scale}),
                              Numbers<uint8_t>({}, {x_zero}), Numbers<float>({}, {y_scale}),
                              Numbers<uint8_t>({}, {y_zero})});
  EXPECT_TRUE(made.ok());
  return made.ok() ? ElementsOf<uint8_t>((*made)[0])[0] : 0;
}

OneNode PoolNode(std::string op, std::vector<std::pair<std::string, graph::Attribute>> attributes) {
  return {std::move(op), std::move(attributes), 1, std::string(graph::kContributedDomain), 1};
}

// The mean is -34.500004 in float32, and 109.5 with the zero point.
TEST(BytePoolTest, TheZeroPointIsAddedBeforeAMeanIsRounded) {
  const OneNode node =
      PoolNode("QLinearAveragePool", {{"kernel_shape", std::vector<int64_t>{1, 6}}});
  EXPECT_EQ(PooledElement(node, {32, 0, 131, 131, 131, 131}, 0.017687429F, 131, 0.019652696F, 144),
            110);
}

// The last window reaches two places behind the data, which count as the padding does.
TEST(BytePoolTest, AMeanOverPaddingIsThatOfTheWholeWindow) {
  for (const int64_t counts : {0, 1}) {
    const OneNode node =
        PoolNode("QLinearAveragePool", {{"kernel_shape", std::vector<int64_t>{1, 3}},
                                        {"strides", std::vector<int64_t>{1, 3}},
                                        {"ceil_mode", int64_t{1}},
                                        {"count_include_pad", counts}});
    const auto made =
        node.Run({Numbers<uint8_t>({1, 1, 1, 4}, {90, 90, 90, 90}), Numbers<float>({}, {1}),
                  Numbers<uint8_t>({}, {0}), Numbers<float>({}, {1}), Numbers<uint8_t>({}, {0})});
    ASSERT_TRUE(made.ok());
    EXPECT_EQ(ElementsOf<uint8_t>((*made)[0]),
              (std::vector<uint8_t>{90, counts == 1 ? uint8_t{30} : uint8_t{90}}));
  }
}

// The same with signed bytes: -18.500004 with their zero point.
TEST(BytePoolTest, SignedBytesAreRoundedAsUnsignedOnesWhereAsked) {
  for (const int64_t as_unsigned : {0, 1}) {
    const OneNode node =
        PoolNode("QLinearAveragePool",
                 {{"kernel_shape", std::vector<int64_t>{1, 6}}, {"as_unsigned", as_unsigned}});
    const auto made = node.Run({Numbers<int8_t>({1, 1, 1, 6}, {-96, -128, 3, 3, 3, 3}),
                                Numbers<float>({}, {0.017687429F}), Numbers<int8_t>({}, {3}),
                                Numbers<float>({}, {0.019652696F}), Numbers<int8_t>({}, {16})});
    ASSERT_TRUE(made.ok());
    EXPECT_EQ(ElementsOf<int8_t>((*made)[0])[0], as_unsigned == 1 ? -18 : -19);
  }
}

// The mean is 24.5, and a little more when it is multiplied by a 56th in float32.
TEST(BytePoolTest, TheFactorOfAGlobalMeanIsRoundedToFloat) {
  std::vector<uint8_t> elements(56, 142);
  std::fill_n(elements.begin(), 28, uint8_t{143});
  const OneNode node = PoolNode("QLinearGlobalAveragePool", {});
  EXPECT_EQ(PooledElement(node, elements, 0.044023305F, 118, 0.044023305F, 101), 126);
}

}  // namespace byte_pool_test
}  // namespace plimsoll::kernels::cpu
