#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "kernels/cpu/one_node.h"

namespace plimsoll::kernels::cpu {
namespace region_pool_test {

constexpr int64_t kChannels = 3;
constexpr int64_t kPooledHeight = 2;
constexpr int64_t kPooledWidth = 3;

struct Picture {
  int64_t height, width;

  float At(int64_t channel, int64_t y, int64_t x) const {
    return static_cast<float>((channel * 31 + y * 7 + x * 3) % 11) - 4;
  }
  // Between the pixels, as the standard says; zero more than a pixel outside.
  double Between(int64_t channel, double y, double x) const {
    const auto rows = static_cast<double>(height);
    const auto columns = static_cast<double>(width);
    if (y < -1 || y > rows || x < -1 || x > columns) return 0;
    const double inside_y = std::clamp(y, 0.0, rows - 1);
    const double inside_x = std::clamp(x, 0.0, columns - 1);
    double sum = 0;
    for (int64_t row = 0; row < height; ++row) {
      for (int64_t column = 0; column < width; ++column) {
        const double down = 1 - std::abs(inside_y - static_cast<double>(row));
        const double across = 1 - std::abs(inside_x - static_cast<double>(column));
        if (down > 0 && across > 0) sum += down * across * At(channel, row, column);
      }
    }
    return sum;
  }
};

std::vector<float> AlignByDefinition(const Picture& picture, const std::vector<float>& regions,
                                     int64_t samples) {
  std::vector<float> pooled;
  for (size_t region = 0; region < regions.size(); region += 4) {
    const double left = regions[region] - 0.5;
    const double top = regions[region + 1] - 0.5;
    const double cell_width = (regions[region + 2] - 0.5 - left) / kPooledWidth;
    const double cell_height = (regions[region + 3] - 0.5 - top) / kPooledHeight;
    const auto count = [&](double size) {
      return samples > 0 ? samples : std::max<int64_t>(static_cast<int64_t>(std::ceil(size)), 0);
    };
    const int64_t down = count(cell_height);
    const int64_t across = count(cell_width);
    for (int64_t cell = 0; cell < kChannels * kPooledHeight * kPooledWidth; ++cell) {
      const int64_t channel = cell / (kPooledHeight * kPooledWidth);
      const auto row = static_cast<double>(cell / kPooledWidth % kPooledHeight);
      const auto column = static_cast<double>(cell % kPooledWidth);
      double sum = 0;
      for (int64_t i = 0; i < down * across; ++i) {
        const auto y = (static_cast<double>(i / across) + 0.5) / static_cast<double>(down);
        const auto x = (static_cast<double>(i % across) + 0.5) / static_cast<double>(across);
        sum += picture.Between(channel, top + (row + y) * cell_height,
                               left + (column + x) * cell_width);
      }
      pooled.push_back(
          down * across == 0 ? 0 : static_cast<float>(sum / static_cast<double>(down * across)));
    }
  }
  return pooled;
}

// Inside, over the right and the lower edge, far outside, of no size, turned around, and one whose
// cells have more samples than are prepared at once.
// What ONNX Runtime gives, which rounds places, weights and sums to float32 in each step.
TEST(RegionPoolTest, StepsAreThoseOfFloats) {
  std::vector<float> image;
  for (int i = 0; i < 30; ++i) image.push_back(static_cast<float>(i * 7 % 11 / 3.0 - 1));
  const OneNode node{
      "RoiAlign",
      {{"output_height", int64_t{2}}, {"output_width", int64_t{3}}, {"sampling_ratio", int64_t{3}}},
      1,
      "",
      16};
  const auto made =
      node.Run({Numbers<float>({1, 1, 5, 6}, image),
                Numbers<float>({1, 4}, {0.3F, 0.7F, 4.9F, 3.1F}), Numbers<int64_t>({1}, {0})});
  ASSERT_TRUE(made.ok()) << made.error().Text();
  EXPECT_THAT(ElementsOf<float>((*made)[0]),
              testing::ElementsAre(0x1.dec068p-1F, 0x1.6c012ep-2F, 0x1.ef454p-1F, 0x1.52011cp-1F,
                                   0x1.643ad2p+0F, 0x1.3bf71ap-2F));
}

TEST(RegionPoolTest, MeansOfSamplesAreThoseOfTheDefinition) {
  const std::vector<float> regions = {1.2f, 0.7f, 5.9f, 4.1f, 3.5f, 2.0f,  9.5f,  7.5f,
                                      40,   40,   44,   47,   2,    2,     2,     2,
                                      5,    5,    1,    1,    -30,  -20.f, 40.0f, 33.0f};
  for (const Picture picture : {Picture{6, 8}, Picture{5, 1}, Picture{1, 4}}) {
    std::vector<float> pixels;
    for (int64_t i = 0; i < kChannels * picture.height * picture.width; ++i) {
      pixels.push_back(picture.At(i / (picture.height * picture.width),
                                  i / picture.width % picture.height, i % picture.width));
    }
    for (const int64_t samples : {0, 2, 17}) {
      const OneNode node{"RoiAlign",
                         {{"output_height", kPooledHeight},
                          {"output_width", kPooledWidth},
                          {"sampling_ratio", samples},
                          {"coordinate_transformation_mode", std::string("half_pixel")}}};
      const auto made =
          node.Run({Numbers<float>({1, kChannels, picture.height, picture.width}, pixels),
                    Numbers<float>({6, 4}, regions), Numbers<int64_t>({6}, {0, 0, 0, 0, 0, 0})});
      ASSERT_TRUE(made.ok()) << made.error().Text();
      EXPECT_THAT(ElementsOf<float>((*made)[0]),
                  testing::Pointwise(testing::FloatNear(2e-5f),
                                     AlignByDefinition(picture, regions, samples)))
          << picture.height << " x " << picture.width << ", " << samples;
    }
  }
}

}  // namespace region_pool_test
}  // namespace plimsoll::kernels::cpu
