#include "kernels/cpu/image/resize_axis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

namespace plimsoll::kernels::cpu {
namespace resize_axis_test {

using testing::ElementsAre;
using Kind = ResizeMode::Kind;

TEST(ResizeAxisTest, NearestRoundsHalvesAsItIsTold) {
  struct Case {
    const char* rounding;
    Dims places;
  };
  // Half-pixel centres of 4 places over 2 lie at -0.25, 0.25, 0.75, 1.25; of 2 over 4 at 0.5, 2.5.
  for (const Case& c : {Case{"round_prefer_floor", {0, 2}}, Case{"round_prefer_ceil", {1, 3}},
                        Case{"floor", {0, 2}}, Case{"ceil", {1, 3}}}) {
    ResizeMode mode;
    mode.rounding = c.rounding;
    EXPECT_EQ(WeightsAlong(mode, {.from = 4, .to = 2, .scale = 0.5}).places, c.places);
    EXPECT_EQ(WeightsAlong(mode, {.from = 2, .to = 4, .scale = 2}).places.front(), 0);
  }
}

TEST(ResizeAxisTest, WeightsOfEveryPlaceAddUpToOneAndStayInside) {
  for (const Kind kind : {Kind::kLinear, Kind::kCubic}) {
    for (const bool antialias : {false, true}) {
      for (const bool exclude_outside : {false, true}) {
        for (const double scale : {0.13, 0.5, 1.0, 1.7, 3.0}) {
          ResizeMode mode{.kind = kind, .exclude_outside = exclude_outside, .antialias = antialias};
          const ResizedAxis axis{
              .from = 23, .to = static_cast<int64_t>(23 * scale), .scale = scale};
          const AxisWeights made = WeightsAlong(mode, axis);
          for (int64_t i = 0; i < axis.to; ++i) {
            const auto first = made.weights.begin() + i * made.taps;
            EXPECT_NEAR(std::accumulate(first, first + made.taps, 0.0), 1, 1e-12);
          }
          EXPECT_THAT(made.places, testing::Each(testing::AllOf(testing::Ge(0), testing::Lt(23))));
          EXPECT_EQ(made.IsIdentity(axis), scale == 1.0);
        }
      }
    }
  }
}

TEST(ResizeAxisTest, ACropMarksPlacesOutsideTheInput) {
  const ResizeMode mode{.kind = Kind::kLinear, .coordinates = "tf_crop_and_resize"};
  const AxisWeights made = WeightsAlong(
      mode, {.from = 5, .to = 3, .scale = 0.6, .region_start = 0.5, .region_end = 1.5});
  EXPECT_THAT(made.outside, ElementsAre(false, false, true));
}

// 33 / (44 / 20) is 15, and 33 / (36 / 30) lies between 27 and 28: ONNX Runtime's float32 decides.
TEST(ResizeAxisTest, ThePlaceNextToANearestSampleIsThatOfFloat32) {
  const auto place = [](const std::string& coordinates, const std::string& rounding, int64_t from,
                        int64_t to, size_t at) {
    const ResizeMode mode{.kind = Kind::kNearest, .coordinates = coordinates, .rounding = rounding};
    const double scale = static_cast<double>(to) / static_cast<double>(from);
    return WeightsAlong(mode, {.from = from, .to = to, .scale = scale}).places[at];
  };
  EXPECT_EQ(place("asymmetric", "floor", 20, 44, 33), 15);
  EXPECT_EQ(place("asymmetric", "round_prefer_ceil", 30, 36, 33), 27);
}

}  // namespace resize_axis_test
}  // namespace plimsoll::kernels::cpu
