#include "cli/commands/plan_sizes.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

// Sizes that models leave open: asked for, listed, searched.
namespace plimsoll::cli {
namespace plan_sizes_test {

constexpr const char* kCnn = PLIMSOLL_SOURCE_DIR "/examples/tiny_cnn.onnx";

PlanArguments Arguments(std::vector<std::string> shapes) {
  PlanArguments arguments;
  arguments.models = {kCnn};
  arguments.shapes = std::move(shapes);
  return arguments;
}

TEST(PlanSizesTest, ASizeThatNobodyGaveIsPlannedForTheUsualOnes) {
  PlanArguments arguments = Arguments({});
  const auto choice = ChooseSizes(arguments);
  ASSERT_TRUE(choice.ok() && *choice);
  EXPECT_EQ((*choice)->name, "batch");
  EXPECT_EQ((*choice)->values, (std::vector<int64_t>{1, 2, 4, 8, 16}));
  EXPECT_FALSE((*choice)->asked);
}

TEST(PlanSizesTest, AListIsTakenOutOfTheArguments) {
  PlanArguments arguments = Arguments({"batch=3,5"});
  const auto choice = ChooseSizes(arguments);
  ASSERT_TRUE(choice.ok() && *choice);
  EXPECT_EQ((*choice)->values, (std::vector<int64_t>{3, 5}));
  EXPECT_TRUE((*choice)->asked);
  EXPECT_TRUE(arguments.shapes.empty());
}

TEST(PlanSizesTest, KnownSizesLeaveNothingToChoose) {
  for (const char* shape : {"batch=4", "image=2x3x64x64", "image=2,3,64,64"}) {
    PlanArguments arguments = Arguments({shape});
    const auto choice = ChooseSizes(arguments);
    ASSERT_TRUE(choice.ok()) << shape;
    EXPECT_FALSE(*choice) << shape;
  }
}

TEST(PlanSizesTest, TwoListsAreRefused) {
  PlanArguments arguments = Arguments({"batch=1,2", "batch=3,4"});
  EXPECT_EQ(ChooseSizes(arguments).error().code, "plan.open_sizes");
}

TEST(PlanSizesTest, TheLargestThatFitsIsFound) {
  for (int64_t answer = 0; answer <= 70; ++answer) {
    EXPECT_EQ(LargestThatFits(64, [&](int64_t size) { return size <= answer; }),
              std::min<int64_t>(answer, 64));
  }
}

TEST(PlanSizesTest, NothingAboveTheMostIsTried) {
  LargestThatFits(100, [](int64_t size) {
    EXPECT_LE(size, 100);
    EXPECT_GE(size, 1);
    return size != 64;
  });
}

// Packing is no monotone thing: a few sizes may take more than their neighbours.
TEST(PlanSizesTest, ASingleBadSizeDoesNotHideBetterOnes) {
  EXPECT_EQ(LargestThatFits(1000, [](int64_t size) { return size != 32 && size <= 700; }), 700);
  EXPECT_EQ(LargestThatFits(1000, [](int64_t size) { return size != 1 && size <= 9; }), 9);
  EXPECT_EQ(LargestThatFits(1000, [](int64_t size) { return size != 39 && size <= 40; }), 40);
  std::mt19937 draw(1907);
  for (int round = 0; round < 500; ++round) {
    const int64_t answer = 1 + static_cast<int64_t>(draw() % 500);
    const int64_t bad = 1 + static_cast<int64_t>(draw() % 500);
    const auto fits = [&](int64_t size) { return size <= answer && size != bad; };
    const int64_t found = LargestThatFits(1 << 16, fits);
    EXPECT_TRUE(found == 0 || fits(found));
    EXPECT_GE(found, answer == bad ? answer - 1 : answer) << "answer " << answer << ", bad " << bad;
  }
}

}  // namespace plan_sizes_test
}  // namespace plimsoll::cli
