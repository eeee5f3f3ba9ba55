#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/cpu/one_node.h"

namespace plimsoll::kernels::cpu {
namespace loss_test {

using testing::HasSubstr;

TEST(LossKernelTest, ALabelOutsideTheClassesIsAnErrorUnlessItIsIgnored) {
  const HostTensor scores = Numbers<float>({2, 3}, {-1, -2, -3, -4, -5, -6});
  const HostTensor labels = Numbers<int64_t>({2}, {1, 7});
  for (const std::string op : {"NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"}) {
    const auto made = OneNode{op, {}}.Run({scores, labels});
    ASSERT_FALSE(made.ok());
    EXPECT_THAT(made.error().Text(), HasSubstr("label 7 at place 1 is not one of 3 classes"));
    EXPECT_TRUE((OneNode{.op = op, .attributes = {{"ignore_index", int64_t{7}}}}
                     .Run({scores, labels})
                     .ok()));
  }
}

TEST(LossKernelTest, ScoresAsLargeAsFloatsGoDoNotOverflow) {
  const auto made = OneNode{"SoftmaxCrossEntropyLoss", {}}.Run(
      {Numbers<float>({1, 2}, {3e38f, 3e38f}), Numbers<int32_t>({1}, {0})});
  ASSERT_TRUE(made.ok());
  EXPECT_NEAR(ElementsOf<float>((*made)[0])[0], std::log(2.0f), 1e-5);
}

TEST(LossKernelTest, TheMeanOfNothingIsNan) {
  const OneNode node{.op = "NegativeLogLikelihoodLoss",
                     .attributes = {{"ignore_index", int64_t{0}}}};
  const auto made = node.Run({Numbers<float>({1, 2}, {-1, -2}), Numbers<int64_t>({1}, {0})});
  ASSERT_TRUE(made.ok());
  EXPECT_TRUE(std::isnan(ElementsOf<float>((*made)[0])[0]));
}

}  // namespace loss_test
}  // namespace plimsoll::kernels::cpu
