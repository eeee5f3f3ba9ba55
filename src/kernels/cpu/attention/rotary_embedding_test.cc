#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/cpu/in_place_for_tests.h"

namespace plimsoll::kernels::cpu {
namespace rotary_embedding_test {

using testing::ElementsAre;
using testing::HasSubstr;

OneNode Rotary(std::vector<std::pair<std::string, graph::Attribute>> attributes = {}) {
  return {.op = "RotaryEmbedding",
          .attributes = std::move(attributes),
          .outputs = 1,
          .domain = "",
          .version = 23};
}

// Position 0 turns nothing, position 1 turns by a quarter.
const HostTensor kCosines = Numbers<float>({2, 2}, {1, 1, 0, 0});
const HostTensor kSines = Numbers<float>({2, 2}, {0, 0, 1, 1});

TEST(RotaryEmbeddingKernelTest, TurnsPairsInPlace) {
  const HostTensor ids = Numbers<int64_t>({1, 2}, {0, 1});
  const auto x = [] { return Numbers<float>({1, 1, 2, 4}, {1, 2, 3, 4, 1, 2, 3, 4}); };
  const auto halves = RunInPlace(Rotary(), {x(), kCosines, kSines, ids}, 0);
  ASSERT_TRUE(halves.ok()) << halves.error().Text();
  EXPECT_THAT(ElementsOf<float>(*halves), ElementsAre(1, 2, 3, 4, -3, -4, 1, 2));
  const auto neighbours =
      RunInPlace(Rotary({{"interleaved", int64_t{1}}}), {x(), kCosines, kSines, ids}, 0);
  ASSERT_TRUE(neighbours.ok());
  EXPECT_THAT(ElementsOf<float>(*neighbours), ElementsAre(1, 2, 3, 4, -2, 1, -4, 3));
}

TEST(RotaryEmbeddingKernelTest, APositionOutsideTheCacheIsAnError) {
  const auto made = Rotary().Run({Numbers<float>({1, 1, 1, 4}, {1, 2, 3, 4}), kCosines, kSines,
                                  Numbers<int64_t>({1, 1}, {2})});
  ASSERT_FALSE(made.ok());
  EXPECT_THAT(made.error().Text(), HasSubstr("index 2 is outside an axis of 2"));
}

}  // namespace rotary_embedding_test
}  // namespace plimsoll::kernels::cpu
