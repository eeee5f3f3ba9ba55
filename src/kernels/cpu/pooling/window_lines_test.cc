#include "kernels/cpu/pooling/window_lines.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

#include "kernels/cpu/one_node.h"

namespace plimsoll::kernels::cpu {
namespace window_lines_test {

template <typename T>
HostTensor AnyMaps(const Dims& dims, std::mt19937& random) {
  std::vector<T> elements(static_cast<size_t>(ElementCount(dims)));
  for (T& element : elements) {
    element = std::is_same_v<T, float> ? static_cast<T>(random() % 1000) / T(1000)
                                       : static_cast<T>(random());
  }
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
      << "width " << dims.back() << " height " << dims[dims.size() - 2];
}

TEST(WindowLinesTest, TheLargestUnderEveryWindow) {
  std::mt19937 random(11);
  for (const int64_t width : {5, 16, 31, 63, 64, 65, 130}) {
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
          ExpectSameWithPlaces<float>(node, {1, 2, 9, width}, random);
        }
      }
    }
  }
}

// Lines of 63 bytes and one of padding fill vectors, and nothing is left of the map before them.
TEST(WindowLinesTest, PaddingBehindTheLastLineIsTheLowestNumber) {
  const OneNode node{.op = "MaxPool",
                     .attributes = {{"kernel_shape", std::vector<int64_t>{3, 3}},
                                    {"pads", std::vector<int64_t>{1, 1, 0, 1}}},
                     .version = 12};
  const auto largest = [&](int64_t width, uint8_t element) {
    const std::vector<uint8_t> map(static_cast<size_t>(9 * width), element);
    const auto made = node.Run({Numbers<uint8_t>({1, 1, 9, width}, map)});
    EXPECT_TRUE(made.ok());
    const std::vector<uint8_t> elements = ElementsOf<uint8_t>((*made)[0]);
    return *std::max_element(elements.begin(), elements.end());
  };
  EXPECT_EQ(largest(130, 255), 255);
  EXPECT_EQ(largest(63, 7), 7);
}

TEST(WindowLinesTest, LinesOfAnyLengthInThreeDimensions) {
  std::mt19937 random(12);
  for (const int64_t stride : {1, 2, 3}) {
    for (const int64_t kernel : {2, 3, 40}) {
      const std::vector<int64_t> pads = {1, 0, kernel / 2, 0, 1, kernel / 2};
      const OneNode node{.op = "MaxPool",
                         .attributes = {{"kernel_shape", std::vector<int64_t>{2, 3, kernel}},
                                        {"strides", std::vector<int64_t>{1, 2, stride}},
                                        {"pads", pads}},
                         .version = 12};
      for (const int64_t width : {41, 2047, 5000}) {
        ExpectSameWithPlaces<float>(node, {1, 2, 3, 4, width}, random);
      }
    }
  }
}

TEST(WindowLinesTest, SumsOfLongLines) {
  constexpr int64_t kWidth = 4500;
  constexpr int64_t kKernel = 25;
  std::mt19937 random(13);
  const HostTensor x = AnyMaps<float>({1, 1, kWidth}, random);
  const std::vector<float> given = ElementsOf<float>(x);
  for (const int64_t stride : {1, 2, 5}) {
    const OneNode node{.op = "AveragePool",
                       .attributes = {{"kernel_shape", std::vector<int64_t>{kKernel}},
                                      {"strides", std::vector<int64_t>{stride}}},
                       .version = 19};
    const auto made = node.Run({x});
    ASSERT_TRUE(made.ok());
    const std::vector<float> got = ElementsOf<float>((*made)[0]);
    ASSERT_EQ(static_cast<int64_t>(got.size()), (kWidth - kKernel) / stride + 1);
    for (size_t i = 0; i < got.size(); ++i) {
      double sum = 0;
      for (int64_t tap = 0; tap < kKernel; ++tap) {
        sum += given[i * static_cast<size_t>(stride) + static_cast<size_t>(tap)];
      }
      ASSERT_NEAR(got[i], sum / kKernel, 1e-5) << "place " << i << ", stride " << stride;
    }
  }
}

TEST(WindowLinesTest, LargestElementsOverlookNaN) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const OneNode node{
      .op = "MaxPool", .attributes = {{"kernel_shape", std::vector<int64_t>{1, 2}}}, .version = 12};
  const auto made = node.Run({Numbers<float>({1, 1, 1, 4}, {nan, 1, 2, nan})});
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(ElementsOf<float>((*made)[0]), (std::vector<float>{1, 2, 2}));
}

TEST(WindowLinesTest, WindowsTooWideForALine) {
  Window window{.rank = 2,
                .input = {1, 4, 3000},
                .output = {1, 4, 1500},
                .kernel = {1, 1, 2},
                .strides = {1, 1, 2},
                .dilations = {1, 1, 1},
                .begin = {0, 0, 0},
                .declared_end = {0, 0, 0}};
  EXPECT_TRUE(FitsWindowLines(window));
  window.dilations[2] = 2100;
  EXPECT_FALSE(FitsWindowLines(window));
}

}  // namespace window_lines_test
}  // namespace plimsoll::kernels::cpu
