#include "engine/run/run_lives.h"

#include <gtest/gtest.h>

// When runs hold buffers, and how much of the feature map they are handed.
namespace plimsoll::engine {
namespace run_lives_test {

compile::PlannedModel Planned(const std::vector<std::pair<int64_t, int64_t>>& offsets_and_sizes) {
  compile::PlannedModel model;
  model.timeline.steps.resize(4);
  model.timeline.steps_of_stream = {4};
  plan::Problem& problem = model.buffers.problem;
  model.buffers.feature_map = problem.AddRegion({.name = "feature map"});
  for (const auto& [offset, size] : offsets_and_sizes) {
    plan::Buffer buffer;
    buffer.size = Bytes(size);
    buffer.region = model.buffers.feature_map;
    buffer.life = {plan::StreamId(0), 1, 9};
    problem.AddBuffer(buffer);
    model.plan.offsets.push_back(Offset(offset));
  }
  return model;
}

std::vector<int64_t> HandedOut(const std::vector<RunLife>& lives) {
  std::vector<int64_t> bytes;
  for (const RunLife& life : lives) bytes.push_back(life.handed_out);
  return bytes;
}

TEST(RunLivesTest, BuffersAreHandedWholeCells) {
  EXPECT_EQ(HandedOut(RunLivesOf(Planned({{0, 4}, {512, 512}, {1024, 513}}), {})),
            (std::vector<int64_t>{512, 512, 1024}));
}

TEST(RunLivesTest, PiecesSideBySideShareNoCell) {
  // 0 to 700, 700 to 800, 800 to 1100: three cells in all.
  EXPECT_EQ(HandedOut(RunLivesOf(Planned({{0, 700}, {700, 100}, {800, 300}}), {})),
            (std::vector<int64_t>{1024, 0, 512}));
}

TEST(RunLivesTest, LivesEndWithTheLastStep) {
  const std::vector<RunLife> lives = RunLivesOf(Planned({{0, 4}}), {});
  ASSERT_EQ(lives.size(), 1U);
  EXPECT_EQ(lives[0].begin, 1);
  EXPECT_EQ(lives[0].end, 4);
  EXPECT_EQ(lives[0].last_steps, (std::vector<int64_t>{3}));
}

TEST(RunLivesTest, OnSeveralStreamsALifeEndsWithTheLastUseOfEach) {
  compile::PlannedModel model = Planned({{0, 4}});
  model.timeline.steps_of_stream = {2, 2};
  for (size_t i = 0; i < 4; ++i) model.timeline.steps[i].stream = static_cast<int>(i % 2);
  plan::Buffer& buffer = model.buffers.problem.buffers[0];
  buffer.life = {plan::StreamId(0), 0, 2};
  buffer.elsewhere = {{plan::StreamId(1), 0, 1}};
  const std::vector<RunLife> lives = RunLivesOf(model, {});
  ASSERT_EQ(lives.size(), 1U);
  EXPECT_EQ(lives[0].begin, 0);
  EXPECT_EQ(lives[0].end, 3);
  EXPECT_EQ(lives[0].last_steps, (std::vector<int64_t>{2, 1}));
}

}  // namespace run_lives_test
}  // namespace plimsoll::engine
