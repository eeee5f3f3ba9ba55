#include "kernels/cpu/pooling/byte_max.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "kernels/cpu/one_node.h"

namespace plimsoll::kernels::cpu {
namespace byte_max_test {

template <typename T>
HostTensor AnyMaps(const Dims& dims, std::mt19937& random) {
  std::vector<T> elements(static_cast<size_t>(ElementCount(dims)));
  for (T& element : elements) element = static_cast<T>(random());
  return Numbers<T>(dims, elements);
}

// With the places of the largest elements, which are looked for one by one, and without.
template <typename T>
void ExpectSameWithPlaces(const OneNode& node, const Dims& dims, std::mt19937& random) {
  const HostTensor x = AnyMaps<T>(dims, random);
  OneNode with_places = node;
  with_places.outputs = 2;
  const auto plain = node.Run({x});
  const auto placed = with_places.Run({x});
  ASSERT_TRUE(plain.ok() && placed.ok());
  ASSERT_EQ(ElementsOf<T>((*plain)[0]), ElementsOf<T>((*placed)[0]))
      << "width " << dims[3] << " height " << dims[2];
}

TEST(ByteMaxTest, TheLargestUnderEveryWindow) {
  std::mt19937 random(11);
  for (const int64_t width : {5, 16, 31, 64, 65, 130}) {
    for (const int64_t stride : {1, 2, 3}) {
      for (const int64_t kernel : {1, 2, 3, 5}) {
        for (const int64_t dilation : {1, 2}) {
          if ((kernel - 1) * dilation + 1 > 5 + 2 * (kernel / 2)) continue;
          const int64_t pad = kernel / 2;
          const OneNode node{.op = "MaxPool",
                             .attributes = {{"kernel_shape", std::vector<int64_t>{kernel, kernel}},
                                            {"strides", std::vector<int64_t>{stride, stride}},
                                            {"dilations", std::vector<int64_t>{dilation, dilation}},
                                            {"pads", std::vector<int64_t>{pad, pad, 0, pad}}},
                             .version = 12};
          ExpectSameWithPlaces<uint8_t>(node, {1, 2, 9, width}, random);
          ExpectSameWithPlaces<int8_t>(node, {2, 1, 9, width}, random);
        }
      }
    }
  }
}

TEST(ByteMaxTest, WindowsThatLinesOfBytesDoNotFit) {
  Window window{.rank = 2,
                .input = {1, 4, 100},
                .output = {1, 4, 50},
                .kernel = {1, 1, 2},
                .strides = {1, 1, 2},
                .dilations = {1, 1, 1},
                .begin = {0, 0, 0},
                .declared_end = {0, 0, 0}};
  EXPECT_TRUE(FitsByteMax(window));
  Window wide = window;
  wide.input[2] = 3000;
  EXPECT_FALSE(FitsByteMax(wide));
  Window deep = window;
  deep.kernel[0] = 2;
  EXPECT_FALSE(FitsByteMax(deep));
  Window far = window;
  far.strides[2] = 3;
  EXPECT_FALSE(FitsByteMax(far));
}

}  // namespace byte_max_test
}  // namespace plimsoll::kernels::cpu
