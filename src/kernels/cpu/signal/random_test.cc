#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "kernels/cpu/one_node.h"
#include "kernels/cpu/signal/random_stream.h"

namespace plimsoll::kernels::cpu {
namespace random_test {

using testing::AllOf;
using testing::Each;
using testing::Ge;
using testing::Lt;
using Attributes = std::vector<std::pair<std::string, graph::Attribute>>;

template <typename T>
std::vector<T> Made(const OneNode& node, const std::vector<HostTensor>& inputs, size_t output = 0) {
  const auto made = node.Run(inputs);
  if (made.ok()) return ElementsOf<T>((*made)[output]);
  ADD_FAILURE() << made.error().Text();
  return {};
}

double Mean(const std::vector<float>& numbers) {
  return std::accumulate(numbers.begin(), numbers.end(), 0.0) / static_cast<double>(numbers.size());
}

const graph::Attribute kMany = std::vector<int64_t>{20'000};

TEST(RandomTest, TheSeedDecidesAndNothingElse) {
  const auto draw = [](double seed) {
    return Made<float>({"RandomUniform", {{"shape", kMany}, {"seed", seed}}}, {});
  };
  EXPECT_EQ(draw(3), draw(3));
  EXPECT_NE(draw(3), draw(4));
  const OneNode seedless{"RandomUniform", {{"shape", kMany}}};
  EXPECT_EQ(Made<float>(seedless, {}), Made<float>(seedless, {}));
}

TEST(RandomTest, UniformNumbersFillTheirRange) {
  const auto drawn =
      Made<float>({"RandomUniform", {{"shape", kMany}, {"low", -1.0}, {"high", 3.0}}}, {});
  EXPECT_THAT(drawn, Each(AllOf(Ge(-1), Lt(3))));
  EXPECT_NEAR(Mean(drawn), 1, 0.05);
}

TEST(RandomTest, NormalNumbersHaveMeanAndDeviation) {
  auto drawn = Made<float>({"RandomNormal", {{"shape", kMany}, {"mean", 5.0}, {"scale", 2.0}}}, {});
  EXPECT_NEAR(Mean(drawn), 5, 0.1);
  for (float& x : drawn) x = (x - 5) * (x - 5);
  EXPECT_NEAR(Mean(drawn), 4, 0.2);
}

TEST(RandomTest, BernoulliFollowsItsProbabilities) {
  const auto sure = Numbers<float>({4}, {0, 1, 0, 1});
  EXPECT_THAT(Made<float>({"Bernoulli", {}}, {sure}), testing::ElementsAre(0, 1, 0, 1));
}

TEST(RandomTest, MultinomialDrawsByWeight) {
  const float never = -std::numeric_limits<float>::infinity();
  const auto logs = Numbers<float>({2, 3}, {never, 0, never, 0, never, std::log(3.0f)});
  const OneNode node{"Multinomial", {{"sample_size", int64_t{8000}}}};
  const auto drawn = Made<int32_t>(node, {logs});
  EXPECT_THAT(std::vector<int32_t>(drawn.begin(), drawn.begin() + 8000), Each(1));
  const auto last = std::count(drawn.begin() + 8000, drawn.end(), 2);
  EXPECT_EQ(std::count(drawn.begin() + 8000, drawn.end(), 1), 0);
  EXPECT_NEAR(static_cast<double>(last) / 8000, 0.75, 0.03);
}

TEST(DropoutTest, InferenceChangesNothing) {
  const auto x = Numbers<float>({3}, {1, 2, 3});
  EXPECT_THAT(Made<float>({"Dropout", {}, 2}, {x}), testing::ElementsAre(1, 2, 3));
  EXPECT_THAT(Made<bool>({"Dropout", {}, 2}, {x}, 1), Each(true));
}

TEST(DropoutTest, TrainingDropsAShareAndScalesTheRest) {
  const std::vector<float> ones(20'000, 1);
  const std::vector<HostTensor> inputs = {Numbers<float>({20'000}, ones),
                                          Numbers<float>({}, {0.75f}), Numbers<bool>({}, {true})};
  const OneNode node{"Dropout", {{"seed", int64_t{7}}}, 2};
  const auto made = Made<float>(node, inputs);
  const auto mask = Made<bool>(node, inputs, 1);
  for (size_t i = 0; i < made.size(); ++i) ASSERT_EQ(made[i], mask[i] ? 4 : 0);
  EXPECT_NEAR(Mean(made), 1, 0.05);
}

TEST(DropoutTest, DroppingEverythingGivesZeros) {
  const std::vector<HostTensor> inputs = {Numbers<float>({2}, {1, 2}), Numbers<float>({}, {1}),
                                          Numbers<bool>({}, {true})};
  EXPECT_THAT(Made<float>({"Dropout", {}}, inputs), Each(0));
}

}  // namespace random_test
}  // namespace plimsoll::kernels::cpu
