#include "kernels/cpu/convolution/bytes/word_window.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "kernels/cpu/prepared_node_for_tests.h"
#include "kernels/parallel.h"

namespace plimsoll::kernels::cpu {
namespace word_window_test {

constexpr int64_t kChannels = 80;
constexpr int64_t kFilters = 5;
constexpr int64_t kSize = 14;
constexpr int64_t kDilation = 36;  // as the widest of DeepLab: nearly all taps meet padding
constexpr int32_t kZero = 7;

template <typename T>
std::vector<T> Drawn(int64_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<T> elements(static_cast<size_t>(count));
  for (T& element : elements) element = static_cast<T>(random());
  return elements;
}

std::vector<int32_t> ByDefinition(const std::vector<uint8_t>& x, const std::vector<int8_t>& w,
                                  int64_t stride, int64_t places) {
  std::vector<int32_t> made;
  for (int64_t filter = 0; filter < kFilters; ++filter) {
    for (int64_t place = 0; place < places * places; ++place) {
      int32_t sum = 0;
      for (int64_t i = 0; i < kChannels * 9; ++i) {
        const int64_t y = place / places * stride + i % 9 / 3 * kDilation - kDilation;
        const int64_t at = place % places * stride + i % 3 * kDilation - kDilation;
        if (y < 0 || y >= kSize || at < 0 || at >= kSize) continue;
        const uint8_t element = x[static_cast<size_t>((i / 9 * kSize + y) * kSize + at)];
        sum += (element - kZero) * w[static_cast<size_t>(filter * kChannels * 9 + i)];
      }
      made.push_back(sum);
    }
  }
  return made;
}

TEST(WordWindowTest, WideDilationsTakeALittleWorkspaceForManyChannels) {
  const std::vector<uint8_t> x = Drawn<uint8_t>(kChannels * kSize * kSize, 1);
  const std::vector<int8_t> w = Drawn<int8_t>(kFilters * kChannels * 9, 2);
  const std::vector<HostTensor> inputs = {Numbers<uint8_t>({1, kChannels, kSize, kSize}, x),
                                          Numbers<int8_t>({kFilters, kChannels, 3, 3}, w),
                                          Numbers<uint8_t>({}, {kZero}), Numbers<int8_t>({}, {0})};
  for (const int64_t stride : {1, 2}) {
    const int64_t places = (kSize + stride - 1) / stride;
    const std::vector<int32_t> expected = ByDefinition(x, w, stride, places);
    const OneNode node{.op = "ConvInteger",
                       .attributes = {{"strides", std::vector<int64_t>(2, stride)},
                                      {"dilations", std::vector<int64_t>(2, kDilation)},
                                      {"pads", std::vector<int64_t>(4, kDilation)}},
                       .version = 10};
    for (const bool packs : {false, true}) {
      const ThreadScope one(1);
      HeapPackedWeights packed;
      const auto prepared = packs ? Prepare(node, inputs, {1, 3}, &packed) : Prepare(node, inputs);
      ASSERT_TRUE(prepared.ok());
      EXPECT_LT(prepared->kernel->workspace(), Bytes(1 << 20)) << stride << packs;
      EXPECT_EQ(*prepared->Run<int32_t>(), expected) << stride << packs;
    }
  }
}

}  // namespace word_window_test
}  // namespace plimsoll::kernels::cpu
