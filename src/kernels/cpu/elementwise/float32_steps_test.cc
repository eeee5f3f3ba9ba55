#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "hwy/targets.h"
#include "kernels/cpu/elementwise/float32_functions.h"
#include "kernels/cpu/one_node.h"
#include "kernels/cpu/vector/float_rows.h"

// What is expected is what ONNX Runtime 1.31 gives on processors with AVX2.
namespace plimsoll::kernels::cpu {
namespace float32_steps_test {

class Float32StepsTest : public testing::Test {
 protected:
  void SetUp() override {
    if ((hwy::SupportedTargets() & (HWY_AVX3 | HWY_AVX2)) == 0) {
      GTEST_SKIP() << "products and sums are two steps here";
    }
  }
};

const std::vector<float> kX = {-11.25F, -3.7F, -1.3F, -0.61F, -0.02F, 0.37F, 0.93F, 2.9F};

const std::vector<float> kGelu = {-0.0F,           -0x1.a23734p-12F, -0x1.01b8bep-3F,
                                  -0x1.5277f2p-3F, -0x1.42738ap-7F,  0x1.e83b3ep-3F,
                                  0x1.88447ap-1F,  0x1.7281e6p+1F};
const std::vector<float> kTanhGelu = {-0.0F,           -0x1.1d3f34p-12F, -0x1.02318p-3F,
                                      -0x1.528a3ap-3F, -0x1.42738ap-7F,  0x1.e8384ep-3F,
                                      0x1.8833b4p-1F,  0x1.729074p+1F};
const std::vector<float> kSigmoid = {0x1.b7p-17F,    0x1.8b4cp-6F,   0x1.b69c2cp-3F,
                                     0x1.688234p-2F, 0x1.fae152p-2F, 0x1.2ed3b6p-1F,
                                     0x1.6f247ep-1F, 0x1.e54c24p-1F};
const std::vector<float> kSwish = {-0x1.34acp-13F,  -0x1.6da64ep-4F, -0x1.1d18b6p-2F,
                                   -0x1.b7d20cp-3F, -0x1.44673ep-7F, 0x1.c02f18p-3F,
                                   0x1.55714cp-1F,  0x1.5fd734p+1F};

std::vector<float> Made(const std::string& op,
                        std::vector<std::pair<std::string, graph::Attribute>> attributes = {}) {
  const OneNode node{op, std::move(attributes), 1, "", 24};
  const auto made = node.Run({Numbers<float>({static_cast<int64_t>(kX.size())}, kX)});
  return made.ok() ? ElementsOf<float>((*made)[0]) : std::vector<float>();
}

TEST_F(Float32StepsTest, ExpErfAndTanhTakeThemInEveryModel) {
  EXPECT_EQ(Made("Exp"),
            (std::vector<float>{0x1.b473d6p-17F, 0x1.9511fcp-6F, 0x1.171294p-2F, 0x1.163216p-1F,
                                0x1.f5dc9ap-1F, 0x1.729ebcp+0F, 0x1.446accp+1F, 0x1.22c94ep+4F}));
  EXPECT_EQ(Made("Erf"),
            (std::vector<float>{-1, -0x1.fffffap-1F, -0x1.de364ap-1F, -0x1.392e48p-1F,
                                -0x1.71b2aep-6F, 0x1.98c974p-2F, 0x1.9f8542p-1F, 0x1.fffa9ep-1F}));
  EXPECT_EQ(Made("Tanh"),
            (std::vector<float>{-1, -0x1.ff5fdcp-1F, -0x1.b933c8p-1F, -0x1.1697d6p-1F,
                                -0x1.47a2e2p-6F, 0x1.6a7ccap-2F, 0x1.761068p-1F, 0x1.fce8c2p-1F}));
}

TEST_F(Float32StepsTest, OthersTakeThemWhereTheNodeAsks) {
  const std::pair<std::string, graph::Attribute> steps{"float_steps", int64_t{1}};
  const std::pair<std::string, graph::Attribute> tanh{"approximate", std::string("tanh")};
  EXPECT_EQ(Made("Gelu", {steps}), kGelu);
  EXPECT_NE(Made("Gelu"), kGelu);
  EXPECT_EQ(Made("Gelu", {steps, tanh}), kTanhGelu);
  EXPECT_EQ(Made("Sigmoid", {steps}), kSigmoid);
  EXPECT_NE(Made("Sigmoid"), kSigmoid);
  EXPECT_EQ(Made("Swish", {steps}), kSwish);
  EXPECT_NE(Made("Swish"), kSwish);
}

TEST_F(Float32StepsTest, AGeluOfAQuotientDivides) {
  std::vector<float> expected(kX.size());
  for (size_t i = 0; i < kX.size(); ++i) expected[i] = kX[i] / 1.41421356F;
  Float32().erf(expected.data(), expected.data(), std::ssize(expected), {});
  for (size_t i = 0; i < kX.size(); ++i) expected[i] = 0.5F * kX[i] * (expected[i] + 1);
  EXPECT_EQ(Made("Gelu", {{"float_steps", int64_t{1}}, {"of_quotient", int64_t{1}}}), expected);
}

// The sums of 16 or 8 lanes, added by halves of 16 and then neighbour by neighbour.
TEST_F(Float32StepsTest, ASoftmaxSumsInItsOrder) {
  const size_t width = (hwy::SupportedTargets() & HWY_AVX3) != 0 ? 16 : 8;
  for (const size_t count : {8, 17, 40, 100, 257}) {
    std::vector<float> x, expected, sums(width);
    for (size_t i = 0; i < count; ++i) x.push_back(3 * std::sin(static_cast<float>(7 * i + count)));
    const float largest = *std::max_element(x.begin(), x.end());
    for (const float number : x) expected.push_back(number - largest);
    Float32().exp(expected.data(), expected.data(), std::ssize(expected), {});
    for (size_t i = 0; i < count; ++i) sums[i % width] += expected[i];
    for (size_t i = 0; i < 8 && width == 16; ++i) sums[i] += sums[i + 8];
    const float sum =
        ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
    for (float& number : expected) number *= 1 / sum;
    RowSoftmax(x.data(), std::ssize(x), x.data());
    EXPECT_EQ(x, expected) << count;
  }
}

}  // namespace float32_steps_test
}  // namespace plimsoll::kernels::cpu
