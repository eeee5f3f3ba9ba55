#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/cpu/one_node.h"

namespace plimsoll::kernels::cpu {
namespace reduction_test {

using graph::Attribute;
using testing::ElementsAre;
using Ints = std::vector<int64_t>;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

template <typename T>
std::vector<T> Reduced(const std::string& op, const HostTensor& x, const Ints& axes,
                       std::vector<std::pair<std::string, Attribute>> attributes = {}) {
  const OneNode node{.op = op, .attributes = std::move(attributes)};
  const auto made = node.Run({x, Numbers<int64_t>({static_cast<int64_t>(axes.size())}, axes)});
  if (!made.ok()) {
    ADD_FAILURE() << made.error().Text();
    return {};
  }
  return ElementsOf<T>((*made)[0]);
}

// Elements 0, 1, 2, ... of [2, 3, 4, 5].
template <typename T>
HostTensor Counted() {
  std::vector<T> elements;
  for (int i = 0; i < 120; ++i) elements.push_back(T(static_cast<float>(i)));
  return Numbers<T>({2, 3, 4, 5}, elements);
}

// The sums over some axes of Counted(), by the definition.
std::vector<double> SumsOver(const Ints& axes) {
  const Ints dims = {2, 3, 4, 5};
  std::vector<double> sums;
  std::vector<int64_t> place(4);
  for (int64_t i = 0; i < 120; ++i) {
    int64_t rest = i, at = 0, scale = 1;
    for (int axis = 3; axis >= 0; --axis) {
      const int64_t along = rest % dims[axis];
      rest /= dims[axis];
      if (std::find(axes.begin(), axes.end(), axis) != axes.end()) continue;
      at += along * scale;
      scale *= dims[axis];
    }
    if (sums.size() <= static_cast<size_t>(at)) sums.resize(static_cast<size_t>(at) + 1);
    sums[static_cast<size_t>(at)] += static_cast<double>(i);
  }
  return sums;
}

// Doubles are folded element by element.
TEST(ReductionKernelTest, ManyShortRunsGiveWhatDoublesGive) {
  for (const Dims& dims : std::vector<Dims>{{2, 9, 4, 6}, {1, 70, 3, 3}, {3, 5, 40, 15}}) {
    std::vector<float> elements;
    for (int64_t i = 0; i < ElementCount(dims); ++i) {
      elements.push_back(static_cast<float>(i * 37 % 101) / 16 - 3);
    }
    const std::vector<double> wide(elements.begin(), elements.end());
    for (const std::string op :
         {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceSumSquare", "ReduceL2",
          "ReduceL1", "ReduceProd", "ReduceLogSumExp"}) {
      for (const Ints& axes : std::vector<Ints>{{1, 3}, {0, 1, 3}}) {
        const auto got = Reduced<float>(op, Numbers(dims, elements), axes);
        const auto expected = Reduced<double>(op, Numbers(dims, wide), axes);
        ASSERT_EQ(got.size(), expected.size());
        for (size_t i = 0; i < got.size(); ++i) {
          EXPECT_NEAR(got[i], expected[i], 1e-5 * (1 + std::abs(expected[i]))) << op << " at " << i;
        }
      }
    }
  }
}

TEST(ReductionKernelTest, AnySetOfAxesIsFoldedInAnyType) {
  for (const Ints& axes : std::vector<Ints>{
           {0}, {1}, {2}, {3}, {0, 2}, {1, 3}, {2, 3}, {0, 1}, {0, 3}, {1, 2}, {0, 1, 2, 3}}) {
    const std::vector<double> sums = SumsOver(axes);
    const auto as = [&sums]<typename T>() { return std::vector<T>(sums.begin(), sums.end()); };
    EXPECT_EQ(Reduced<float>("ReduceSum", Counted<float>(), axes), as.operator()<float>());
    EXPECT_EQ(Reduced<double>("ReduceSum", Counted<double>(), axes), sums);
    EXPECT_EQ(Reduced<int32_t>("ReduceSum", Counted<int32_t>(), axes), as.operator()<int32_t>());
  }
}

TEST(ReductionKernelTest, ShortRunsGiveWhatTheyGiveInDouble) {
  for (const int64_t run : {1, 2, 3, 5, 8, 9}) {
    std::vector<float> elements;
    for (int64_t i = 0; i < 600 * run; ++i) {
      elements.push_back(std::sin(static_cast<float>(i * 7 % 97)));
    }
    const HostTensor x = Numbers<float>({2, 300, run}, elements);
    const HostTensor wide =
        Numbers<double>({2, 300, run}, std::vector<double>(elements.begin(), elements.end()));
    for (const char* op : {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceSumSquare",
                           "ReduceL2", "ReduceL1", "ReduceProd", "ReduceLogSumExp"}) {
      const std::vector<float> got = Reduced<float>(op, x, {2});
      const std::vector<double> expected = Reduced<double>(op, wide, {2});
      ASSERT_EQ(got.size(), expected.size());
      for (size_t i = 0; i < got.size(); ++i) {
        ASSERT_NEAR(got[i], expected[i], 1e-5) << op << " of " << run << ", result " << i;
      }
    }
  }
}

// Whole numbers that wrap around, over every set of axes: those of 16 bits are folded one by one.
TEST(ReductionKernelTest, WholeNumbersOfAnyWidthAgree) {
  std::vector<int64_t> wide;
  for (int64_t i = 0; i < 5 * 70 * 6 * 3; ++i) wide.push_back(i * 7919 % 83 - 41);
  const Dims dims = {5, 70, 6, 3};
  const std::vector<int32_t> narrow(wide.begin(), wide.end());
  const std::vector<int16_t> shorts(wide.begin(), wide.end());
  for (const std::string op :
       {"ReduceSum", "ReduceProd", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceSumSquare"}) {
    for (const Ints& axes :
         std::vector<Ints>{{0}, {1}, {2}, {3}, {1, 3}, {0, 1, 2}, {2, 3}, {0, 1, 2, 3}}) {
      const auto got = Reduced<int64_t>(op, Numbers(dims, wide), axes);
      const std::vector<int16_t> low(got.begin(), got.end());
      EXPECT_EQ(low, Reduced<int16_t>(op, Numbers(dims, shorts), axes)) << op;
      EXPECT_EQ(std::vector<int32_t>(got.begin(), got.end()),
                Reduced<int32_t>(op, Numbers(dims, narrow), axes))
          << op;
    }
  }
  const int32_t largest = std::numeric_limits<int32_t>::max();
  EXPECT_THAT(Reduced<int32_t>("ReduceSum", Numbers<int32_t>({2}, {largest, 1}), {0}),
              ElementsAre(std::numeric_limits<int32_t>::lowest()));
  EXPECT_THAT(Reduced<int32_t>("ReduceMean", Numbers<int32_t>({2}, {largest, largest}), {0}),
              ElementsAre(largest))
      << "their sum needs more bits";
}

TEST(ReductionKernelTest, LogarithmsOfSumsOfExponentialsNeitherOverflowNorLoseInfinities) {
  constexpr float kNone = std::numeric_limits<float>::quiet_NaN();
  const HostTensor x =
      Numbers<float>({4, 2}, {1000, 1000, -kInfinity, kInfinity, -kInfinity, -kInfinity, kNone, 1});
  const std::vector<float> rows = Reduced<float>("ReduceLogSumExp", x, {1});
  EXPECT_NEAR(rows[0], 1000 + std::log(2.0F), 1e-4);
  EXPECT_THAT((std::vector<float>{rows[1], rows[2]}), ElementsAre(kInfinity, -kInfinity));
  EXPECT_TRUE(std::isnan(rows[3]));
  const HostTensor turned =
      Numbers<float>({2, 4}, {1000, -kInfinity, -kInfinity, kNone, 1000, kInfinity, -kInfinity, 1});
  const std::vector<float> columns = Reduced<float>("ReduceLogSumExp", turned, {0});
  EXPECT_NEAR(columns[0], 1000 + std::log(2.0F), 1e-4);
  EXPECT_THAT((std::vector<float>{columns[1], columns[2]}), ElementsAre(kInfinity, -kInfinity));
  EXPECT_TRUE(std::isnan(columns[3]));
}

TEST(ReductionKernelTest, EmptySetsGiveWhatTheStandardSays) {
  const HostTensor none = Numbers<float>({2, 0}, {});
  EXPECT_THAT(Reduced<float>("ReduceSum", none, {1}), ElementsAre(0, 0));
  EXPECT_THAT(Reduced<float>("ReduceProd", none, {1}), ElementsAre(1, 1));
  EXPECT_THAT(Reduced<float>("ReduceMax", none, {1}), ElementsAre(-kInfinity, -kInfinity));
  EXPECT_THAT(Reduced<float>("ReduceMin", none, {1}), ElementsAre(kInfinity, kInfinity));
  EXPECT_THAT(Reduced<float>("ReduceLogSumExp", none, {1}), ElementsAre(-kInfinity, -kInfinity));
  EXPECT_TRUE(std::isnan(Reduced<float>("ReduceMean", none, {1})[0]));
  EXPECT_THAT(Reduced<int8_t>("ReduceMax", Numbers<int8_t>({1, 0}, {}), {1}), ElementsAre(-128));
  EXPECT_THAT(Reduced<int8_t>("ReduceMin", Numbers<int8_t>({1, 0}, {}), {1}), ElementsAre(127));
  EXPECT_THAT(Reduced<uint8_t>("ReduceMin", Numbers<uint8_t>({1, 0}, {}), {1}), ElementsAre(255));
  EXPECT_THAT(Reduced<int32_t>("ReduceMean", Numbers<int32_t>({1, 0}, {}), {1}), ElementsAre(0));
}

TEST(ReductionKernelTest, WithoutAxesAllAreFoldedOrNoneAsTheNodeSays) {
  const HostTensor x = Numbers<float>({3}, {1, -2, 3});
  EXPECT_THAT(Reduced<float>("ReduceL1", x, {}), ElementsAre(6));
  const std::pair<std::string, Attribute> none{"noop_with_empty_axes", int64_t{1}};
  EXPECT_THAT(Reduced<float>("ReduceL1", x, {}, {none}), ElementsAre(1, 2, 3));
  EXPECT_THAT(Reduced<float>("ReduceSumSquare", x, {}, {none}), ElementsAre(1, 4, 9));
}

TEST(ReductionKernelTest, LogSumExpNeitherOverflowsNorLosesInfinity) {
  EXPECT_NEAR(Reduced<float>("ReduceLogSumExp", Numbers<float>({2}, {1000, 1000}), {0})[0],
              1000.6931, 1e-3);
  EXPECT_EQ(Reduced<float>("ReduceLogSumExp", Numbers<float>({2}, {kInfinity, 1}), {0})[0],
            kInfinity);
  EXPECT_EQ(
      Reduced<float>("ReduceLogSumExp", Numbers<float>({2}, {-kInfinity, -kInfinity}), {0})[0],
      -kInfinity);
}

TEST(ReductionKernelTest, NanIsTheLargestAndTheSmallest) {
  const HostTensor x = Numbers<float>({2, 2}, {1, std::nanf(""), 3, 4});
  for (const std::string op : {"ReduceMax", "ReduceMin"}) {
    const std::vector<float> along = Reduced<float>(op, x, {1});
    EXPECT_TRUE(std::isnan(along[0]));
    EXPECT_FALSE(std::isnan(along[1]));
    EXPECT_TRUE(std::isnan(Reduced<float>(op, x, {0})[1]));
  }
}

TEST(ReductionKernelTest, IntegersWrapAroundAndKeepTheirSign) {
  const int64_t most = std::numeric_limits<int64_t>::max();
  EXPECT_THAT(Reduced<int64_t>("ReduceSum", Numbers<int64_t>({2}, {most, 1}), {0}),
              ElementsAre(std::numeric_limits<int64_t>::min()));
  EXPECT_THAT(Reduced<uint64_t>("ReduceMax", Numbers<uint64_t>({2}, {~0ull, 1}), {0}),
              ElementsAre(~0ull));
  EXPECT_THAT(Reduced<int32_t>("ReduceMean", Numbers<int32_t>({2}, {-3, -4}), {0}),
              ElementsAre(-3));
  EXPECT_THAT(Reduced<bool>("ReduceMin", Numbers<bool>({2}, {true, false}), {0}),
              ElementsAre(false));
}

TEST(ReductionKernelTest, AnAxisOutsideIsAnError) {
  const auto made =
      OneNode{"ReduceSum", {}}.Run({Numbers<float>({2}, {1, 2}), Numbers<int64_t>({1}, {1})});
  EXPECT_FALSE(made.ok());
}

}  // namespace reduction_test
}  // namespace plimsoll::kernels::cpu
