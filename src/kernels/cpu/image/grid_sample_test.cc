#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "kernels/cpu/one_node.h"

namespace plimsoll::kernels::cpu {
namespace grid_sample_test {

constexpr int64_t kHeight = 5;
constexpr int64_t kWidth = 7;
constexpr int64_t kPoints = 301;  // more than are worked out at a time

// Between centres of pixels, those outside being 0.
double Expected(const float* image, double x, double y) {
  const double across = ((x + 1) * kWidth - 1) / 2;
  const double down = ((y + 1) * kHeight - 1) / 2;
  double sum = 0;
  for (int64_t row = 0; row < kHeight; ++row) {
    for (int64_t column = 0; column < kWidth; ++column) {
      const double weight = std::max(0.0, 1 - std::abs(down - static_cast<double>(row))) *
                            std::max(0.0, 1 - std::abs(across - static_cast<double>(column)));
      if (weight > 0) sum += weight * static_cast<double>(image[row * kWidth + column]);
    }
  }
  return sum;
}

TEST(GridSampleTest, PointsInsideOfImagesAndBeyondThemMix) {
  std::mt19937 random(7);
  std::vector<float> images(2 * 3 * kHeight * kWidth);
  std::vector<float> grid(2 * kPoints * 2);
  for (float& pixel : images) pixel = static_cast<float>(random() % 1000) / 500 - 1;
  for (float& place : grid) place = static_cast<float>(random() % 3001) / 1000 - 1.5F;
  images[0] = INFINITY;  // only what lies beside it is infinite
  const OneNode node{"GridSample", {{"mode", std::string("bilinear")}}, 1, "", 16};
  const auto made = node.Run(
      {Numbers<float>({2, 3, kHeight, kWidth}, images), Numbers<float>({2, 1, kPoints, 2}, grid)});
  ASSERT_TRUE(made.ok()) << made.error().Text();
  const std::vector<float> results = ElementsOf<float>((*made)[0]);
  for (int64_t image = 0; image < 6; ++image) {
    for (int64_t point = 0; point < kPoints; ++point) {
      const float* const at = grid.data() + (image / 3 * kPoints + point) * 2;
      const double expected = Expected(images.data() + image * kHeight * kWidth,
                                       static_cast<double>(at[0]), static_cast<double>(at[1]));
      const auto result =
          static_cast<double>(results[static_cast<size_t>(image * kPoints + point)]);
      if (std::isinf(expected)) {
        EXPECT_EQ(result, expected) << image << " at " << at[0] << "," << at[1];
      } else {
        EXPECT_NEAR(result, expected, 1e-5) << image << " at " << at[0] << "," << at[1];
      }
    }
  }
}

// Places and weights are rounded to float32 in each step, as in ONNX Runtime.
TEST(GridSampleTest, StepsAreThoseOfFloats) {
  std::mt19937 random(8);
  std::vector<float> image(kHeight * kWidth), grid(kPoints * 2);
  for (float& pixel : image) pixel = static_cast<float>(random() % 1000) / 500 - 1;
  for (float& place : grid) place = static_cast<float>(random() % 1601) / 1000 - 0.8F;
  for (const int64_t align : {0, 1}) {
    const OneNode node{"GridSample", {{"align_corners", align}}, 1, "", 20};
    const auto made = node.Run(
        {Numbers<float>({1, 1, kHeight, kWidth}, image), Numbers<float>({1, 1, kPoints, 2}, grid)});
    ASSERT_TRUE(made.ok()) << made.error().Text();
    const std::vector<float> results = ElementsOf<float>((*made)[0]);
    const auto place = [&](float at, int64_t length) {
      const auto size = static_cast<float>(length);
      return align == 1 ? (at + 1) / 2 * (size - 1) : ((at + 1) * size - 1) / 2;
    };
    for (size_t point = 0; point < kPoints; ++point) {
      const float x = place(grid[2 * point], kWidth), y = place(grid[2 * point + 1], kHeight);
      const auto row = static_cast<int64_t>(y), column = static_cast<int64_t>(x);
      const float right = x - static_cast<float>(column), below = y - static_cast<float>(row);
      const float left = static_cast<float>(column + 1) - x,
                  above = static_cast<float>(row + 1) - y;
      const float* const p = &image[static_cast<size_t>(row * kWidth + column)];
      const float expected = align == 1
                                 ? above * (left * p[0] + right * p[1]) +
                                       below * (left * p[kWidth] + right * p[kWidth + 1])
                                 : above * left * p[0] + above * right * p[1] +
                                       below * left * p[kWidth] + below * right * p[kWidth + 1];
      ASSERT_EQ(results[point], expected) << align << " " << point;
    }
  }
}

// One image for two grids gives what two of it give, however points lie.
TEST(GridSampleTest, OneImageServesAllGrids) {
  std::mt19937 random(9);
  std::vector<float> image(3 * kHeight * kWidth);
  std::vector<float> grid(2 * kPoints * 2);
  for (float& pixel : image) pixel = static_cast<float>(random() % 1000) / 500 - 1;
  for (float& place : grid) place = static_cast<float>(random() % 3001) / 1000 - 1.5F;
  std::vector<float> twice = image;
  twice.insert(twice.end(), image.begin(), image.end());
  const auto grids = Numbers<float>({2, 1, kPoints, 2}, grid);
  for (const std::string mode : {"bilinear", "nearest", "bicubic"}) {
    const OneNode node{"GridSample", {{"mode", mode}}, 1, "", 16};
    const auto once = node.Run({Numbers<float>({1, 3, kHeight, kWidth}, image), grids});
    const auto both = node.Run({Numbers<float>({2, 3, kHeight, kWidth}, twice), grids});
    ASSERT_TRUE(once.ok() && both.ok());
    EXPECT_EQ(ElementsOf<float>((*once)[0]), ElementsOf<float>((*both)[0])) << mode;
  }
}

// Between two pixels the even one is the nearest, and outside there is nothing, or the border.
TEST(GridSampleTest, TheNearestPixelIsTaken) {
  const std::vector<float> image = {1, 2, 3, 4, 5};
  const std::vector<float> places = {-1, -0.75F, -0.25F, 0.2F, 0.25F, 0.75F, 1, 1.4F, -1.4F, NAN};
  std::vector<float> grid;
  for (const float place : places) grid.insert(grid.end(), {place, 0});
  for (const bool border : {false, true}) {
    const OneNode node{"GridSample",
                       {{"mode", std::string("nearest")},
                        {"padding_mode", std::string(border ? "border" : "zeros")},
                        {"align_corners", int64_t{1}}},
                       1,
                       "",
                       16};
    const auto made = node.Run(
        {Numbers<float>({1, 1, 1, 5}, image), Numbers<float>({1, 1, std::ssize(places), 2}, grid)});
    ASSERT_TRUE(made.ok()) << made.error().Text();
    const std::vector<float> outside =
        border ? std::vector<float>{5, 1, 1} : std::vector<float>{0, 0, 0};
    std::vector<float> expected = {1, 1, 3, 3, 3, 5, 5};
    expected.insert(expected.end(), outside.begin(), outside.end());
    EXPECT_EQ(ElementsOf<float>((*made)[0]), expected);
  }
}

}  // namespace grid_sample_test
}  // namespace plimsoll::kernels::cpu
