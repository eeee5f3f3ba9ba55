#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "kernels/cpu/one_node.h"

namespace plimsoll::kernels::cpu {
namespace non_max_suppression_test {

using testing::ElementsAre;

// Top, left, bottom, right of boxes whose scores fall.
std::vector<int64_t> Kept(const std::vector<float>& boxes, float limit) {
  const auto count = static_cast<int64_t>(boxes.size() / 4);
  std::vector<float> scores(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) scores[static_cast<size_t>(i)] = 1 - 1e-4f * float(i);
  const auto made = OneNode{"NonMaxSuppression", {}}.Run(
      {Numbers<float>({1, count, 4}, boxes), Numbers<float>({1, 1, count}, scores),
       Numbers<int64_t>({}, {count}), Numbers<float>({}, {limit})});
  EXPECT_TRUE(made.ok()) << made.error().Text();
  std::vector<int64_t> kept;
  const std::vector<int64_t> rows = ElementsOf<int64_t>((*made)[0]);
  for (size_t i = 2; i < rows.size(); i += 3) kept.push_back(rows[i]);
  return kept;
}

// What the standard says, pair by pair.
std::vector<int64_t> KeptByDefinition(const std::vector<float>& boxes, float limit) {
  std::vector<int64_t> kept;
  const auto overlap = [&](int64_t a, int64_t b) {
    const float* one = boxes.data() + a * 4;
    const float* two = boxes.data() + b * 4;
    const float height = std::min(one[2], two[2]) - std::max(one[0], two[0]);
    const float width = std::min(one[3], two[3]) - std::max(one[1], two[1]);
    if (!(height > 0 && width > 0)) return 0.0f;
    const float shared = height * width;
    const auto area = [](const float* box) { return (box[2] - box[0]) * (box[3] - box[1]); };
    return shared / (area(one) + area(two) - shared);
  };
  for (int64_t i = 0; i < static_cast<int64_t>(boxes.size() / 4); ++i) {
    const bool suppressed = std::any_of(kept.begin(), kept.end(),
                                        [&](int64_t other) { return overlap(i, other) > limit; });
    if (!suppressed) kept.push_back(i);
  }
  return kept;
}

// Narrow boxes far apart and one as wide as all of them: most pairs are never looked at.
TEST(NonMaxSuppressionTest, BoxesAreKeptAsPairsSay) {
  std::mt19937 random(5);
  for (const float reach : {4.0f, 60.0f, 3000.0f}) {
    for (const float widest : {3.0f, 40.0f}) {
      std::vector<float> boxes;
      std::uniform_real_distribution<float> place(0, reach);
      std::uniform_real_distribution<float> size(0.5f, widest);
      for (int i = 0; i < 700; ++i) {
        const float top = place(random) / 100;
        const float left = place(random);
        boxes.insert(boxes.end(), {top, left, top + size(random), left + size(random)});
      }
      for (const float limit : {0.0f, 0.3f, 0.7f}) {
        const std::vector<int64_t> expected = KeptByDefinition(boxes, limit);
        EXPECT_EQ(Kept(boxes, limit), expected) << reach << " " << widest << " " << limit;
      }
    }
  }
}

TEST(NonMaxSuppressionTest, BoxesThatEndNowhereAreCompared) {
  const float infinite = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(Kept({0, 0, 1, 1, 0, 0, 1, 1, 5, -infinite, 6, infinite, 0, 9, 1, 10}, 0.5f),
              ElementsAre(0, 2, 3));
  EXPECT_THAT(Kept({0, 0, 1, 1, nan, nan, nan, nan, 0, 0, 1, 1}, 0.5f), ElementsAre(0, 1));
}

TEST(NonMaxSuppressionTest, BelowZeroAnyBoxBeforeSuppresses) {
  EXPECT_THAT(Kept({0, 0, 1, 1, 50, 50, 51, 51}, -0.5f), ElementsAre(0));
  EXPECT_THAT(Kept({0, 0, 1, 1, 50, 50, 51, 51}, 0), ElementsAre(0, 1));
}

}  // namespace non_max_suppression_test
}  // namespace plimsoll::kernels::cpu
