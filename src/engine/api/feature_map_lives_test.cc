#include "engine/api/feature_map_lives.h"

#include <gtest/gtest.h>

#include "compile/compile_model.h"
#include "compile/graph_for_tests.h"

namespace plimsoll::engine {
namespace feature_map_lives_test {

using compile::FloatTensor;
using graph::GraphBuilder;
using graph::ValueId;

TEST(FeatureMapLivesTest, WorkspacesOfKernelsAreAmongTheOwners) {
  GraphBuilder builder;
  const ValueId a = builder.Input("a", FloatTensor({64, 200}));
  const ValueId b = builder.Input("b", FloatTensor({200, 100}));
  const ValueId product = builder.Node("MatMul", {a, b});
  builder.Output(builder.Node("Softmax", {product}));
  const auto model = compile::CompileModel(compile::Inferred(builder), {});
  ASSERT_TRUE(model.ok());
  const FeatureMapLives lives(model->planned);
  Bytes workspaces;
  for (const Bytes bytes : model->plan_options.lifetimes.workspaces) workspaces += bytes;
  ASSERT_GT(workspaces, Bytes(0));
  ASSERT_EQ(lives.waterline().size(), model->planned.timeline.steps.size());
  Bytes sum;
  for (const auto& owner : lives.OwnersAt(lives.peak_step())) sum += owner.bytes;
  EXPECT_EQ(sum, lives.waterline()[static_cast<size_t>(lives.peak_step())]);
  EXPECT_GE(sum, workspaces);
  EXPECT_LE(sum, compile::FeatureMapPeak(model->planned));
}

// Six steps on streams 0 1 0 1 0 1.
compile::PlannedModel TwoStreams() {
  compile::PlannedModel model;
  model.timeline.steps.resize(6);
  for (int i = 0; i < 6; ++i) model.timeline.steps[static_cast<size_t>(i)].stream = i % 2;
  model.timeline.steps_of_stream = {3, 3};
  model.buffers.feature_map = plan::RegionId(1);
  return model;
}

plan::Buffer Named(const std::string& name, int64_t size, plan::Use life) {
  plan::Buffer buffer;
  buffer.name = name;
  buffer.size = Bytes(size);
  buffer.region = plan::RegionId(1);
  buffer.life = life;
  return buffer;
}

std::string OwnersText(const FeatureMapLives& lives, int64_t step) {
  std::string text;
  for (const auto& owner : lives.OwnersAt(step)) text += owner.name + " ";
  return text;
}

TEST(FeatureMapLivesTest, ABufferLivesFromItsFirstUseToItsLastOnAllStreams) {
  compile::PlannedModel model = TwoStreams();
  auto& buffers = model.buffers.problem.buffers;
  // On stream 0 in steps 0 and 2, on stream 1 in step 3.
  buffers.push_back(Named("both", 100, {plan::StreamId(0), 0, 2}));
  buffers[0].elsewhere = {{plan::StreamId(1), 1, 2}};
  buffers.push_back(Named("late", 10, {plan::StreamId(1), 1, 3}));
  buffers.push_back(Named("window", 50, {plan::StreamId(0), 0, 3}));
  model.buffers.problem.aliases.push_back({plan::BufferId(2), plan::BufferId(0), Bytes(0)});
  buffers.push_back(Named("elsewhere", 7, {plan::StreamId(0), 0, 3}));
  buffers[3].region = plan::RegionId(0);
  buffers.push_back(Named("never", 3, {plan::StreamId(0), 2, 2}));
  const FeatureMapLives lives(model);
  EXPECT_EQ(lives.waterline(), (std::vector<Bytes>{Bytes(100), Bytes(100), Bytes(100), Bytes(110),
                                                   Bytes(10), Bytes(10)}));
  EXPECT_EQ(lives.peak_step(), 3);
  EXPECT_EQ(OwnersText(lives, 3), "both late ");
  EXPECT_EQ(OwnersText(lives, 2), "both ");
  EXPECT_EQ(OwnersText(lives, 5), "late ");
}

TEST(FeatureMapLivesTest, WhatIsGivenToNobodyElseLivesTheWholeRun) {
  compile::PlannedModel model = TwoStreams();
  auto& buffers = model.buffers.problem.buffers;
  buffers.push_back(Named("exclusive", 1, {plan::StreamId(0), 1, 2}));
  buffers[0].exclusive = true;
  buffers.push_back(Named("cleared", 2, {plan::StreamId(1), 2, 3}));
  buffers[1].atomic_addr_clean_id = 4;
  buffers.push_back(Named("empty", 0, {plan::StreamId(1), 0, 3}));
  const FeatureMapLives lives(model);
  EXPECT_EQ(lives.waterline(), std::vector<Bytes>(6, Bytes(3)));
  EXPECT_EQ(lives.peak_step(), 0) << "the first of the highest";
  EXPECT_EQ(OwnersText(lives, 0), "cleared exclusive ");
}

TEST(FeatureMapLivesTest, AnEmptyPlanHasNoPeak) {
  EXPECT_EQ(FeatureMapLives(compile::PlannedModel()).peak_step(), -1);
}

}  // namespace feature_map_lives_test
}  // namespace plimsoll::engine
