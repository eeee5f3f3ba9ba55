#include "cli/peer/compare_values.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "cli/peer/distance.h"

namespace plimsoll::cli {
namespace compare_values_test {

using graph::DataType;
using kernels::HostTensor;
using kernels::HostValue;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

HostTensor Floats(const std::vector<float>& elements, kernels::Dims dims = {}) {
  if (dims.empty()) dims = {static_cast<int64_t>(elements.size())};
  HostTensor tensor = *kernels::AllocateOnHeap(DataType::kFloat32, dims);
  std::memcpy(tensor.data.get(), elements.data(), elements.size() * sizeof(float));
  return tensor;
}

HostTensor Texts(const std::vector<std::string>& elements) {
  HostTensor tensor =
      *kernels::AllocateOnHeap(DataType::kString, {static_cast<int64_t>(elements.size())});
  std::copy(elements.begin(), elements.end(), static_cast<std::string*>(tensor.data.get()));
  return tensor;
}

std::string Difference(const HostValue& got, const HostValue& expected) {
  return FirstDifference(got, expected, {.rtol = 1e-3, .atol = 1e-6}).value_or("");
}

std::string Difference(const HostTensor& got, const HostTensor& expected) {
  return Difference(HostValue::Of(got), HostValue::Of(expected));
}

TEST(CompareValuesTest, NumbersWithinTheToleranceAreEqual) {
  EXPECT_EQ(Difference(Floats({1, 1000, 0}), Floats({1.0005F, 1000.5F, 5e-7F})), "");
  EXPECT_EQ(
      Difference(Floats({kNan, kInfinity, -kInfinity}), Floats({kNan, kInfinity, -kInfinity})), "");
}

TEST(CompareValuesTest, TheFirstWrongElementIsToldWithItsPlaceAndBothValues) {
  EXPECT_EQ(Difference(Floats({1, 2, 3, 4}, {2, 2}), Floats({1, 2, 5, 6}, {2, 2})),
            "element [1,0] is 3, expected 5 (2 of 4 elements are wrong)");
  for (const auto& [got, expected] : std::vector<std::pair<float, float>>{
           {kNan, 1}, {1, kNan}, {kInfinity, 1}, {1, kInfinity}, {kInfinity, -kInfinity}}) {
    EXPECT_NE(Difference(Floats({got}), Floats({expected})), "") << got << " " << expected;
  }
}

TEST(CompareValuesTest, TypesShapesAndKindsAreCompared) {
  const HostTensor integers = *kernels::AllocateOnHeap(DataType::kInt64, {2});
  EXPECT_EQ(Difference(Floats({1, 2}), integers), "it is float32[2], expected int64[2]");
  EXPECT_EQ(Difference(Floats({1, 2}), Floats({1, 2}, {1, 2})),
            "it is float32[2], expected float32[1,2]");
  EXPECT_NE(
      Difference(HostValue::Of(Floats({1})), HostValue::Sequence({HostValue::Of(Floats({1}))})),
      "");
}

TEST(CompareValuesTest, TextsAndSequencesAreComparedElementByElement) {
  EXPECT_EQ(Difference(Texts({"a", "b"}), Texts({"a", "b"})), "");
  EXPECT_EQ(Difference(Texts({"a", "b"}), Texts({"a", "c"})), "element [1] is 'b', expected 'c'");
  const auto list = [](float second) {
    return HostValue::Sequence({HostValue::Of(Floats({1})), HostValue::Of(Floats({second}))});
  };
  EXPECT_EQ(Difference(list(2), list(2)), "");
  EXPECT_NE(Difference(list(2), list(3)).find("in element 1 element [0] is 2"), std::string::npos);
  EXPECT_EQ(Difference(list(2), HostValue::Sequence({})), "it has 2 elements, expected 0");
}

TEST(CompareValuesTest, WhatIsDrawnAtRandomMustBePossible) {
  const auto impossible = [](const std::vector<float>& got, const std::vector<float>& expected) {
    return FirstImpossible(HostValue::Of(Floats(got)), HostValue::Of(Floats(expected)), {})
        .has_value();
  };
  EXPECT_FALSE(impossible({0, 1, 1}, {1, 0, 1}));
  EXPECT_TRUE(impossible({0, 0.5F, 1}, {1, 0, 1}));
  EXPECT_FALSE(impossible({0, 3, 7}, {2, 3, 0})) << "dropped, kept, kept where it was dropped";
  EXPECT_TRUE(impossible({0, 4, 7}, {2, 3, 0}));
  EXPECT_TRUE(impossible({kNan, 3, 7}, {0, 3, 0}));
  EXPECT_TRUE(impossible({1}, {1, 0}));
}

TEST(DistanceTest, IsTheLengthOfTheDifferenceOverTheLengthOfWhatIsExpected) {
  EXPECT_EQ(RelativeDistance(Floats({3, 4}), Floats({3, 4})), 0);
  EXPECT_DOUBLE_EQ(RelativeDistance(Floats({3, 5}), Floats({3, 4})), 0.2);
  EXPECT_EQ(RelativeDistance(Floats({kNan, 5}), Floats({kNan, 4})), 0.25);
  EXPECT_EQ(RelativeDistance(Floats({kInfinity}), Floats({kInfinity})), 0);
}

TEST(DistanceTest, IsInfiniteWhereTensorsCannotBeCompared) {
  const auto far = [](const HostTensor& got, const HostTensor& expected) {
    return std::isinf(RelativeDistance(got, expected));
  };
  EXPECT_TRUE(far(Floats({1}), Floats({1}, {1, 1})));
  EXPECT_TRUE(far(Floats({1}), *kernels::AllocateOnHeap(DataType::kFloat64, {1})));
  EXPECT_TRUE(far(Floats({kNan}), Floats({1})));
  EXPECT_TRUE(far(Floats({1}), Floats({kInfinity})));
  EXPECT_TRUE(far(Floats({1}), Floats({0}))) << "nothing was expected";
}

}  // namespace compare_values_test
}  // namespace plimsoll::cli
