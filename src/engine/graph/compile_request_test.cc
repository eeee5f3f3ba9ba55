#include "engine/graph/compile_request.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "engine/models_for_tests.h"
#include "engine/random/configured_runs_for_tests.h"

// What a session's options do to its plans, and that results stay what they were.
namespace plimsoll::engine {
namespace compile_request_test {

using compile::FloatTensor;
using graph::Graph;
using graph::GraphBuilder;
using graph::ValueId;
using kernels::HostTensor;

constexpr int64_t kSide = 64;

// x w w ... w: `count` products, each of 16 KiB, and a sum of the first and the last.
Graph Products(int count) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({kSide, kSide}));
  const ValueId w = RandomWeights(builder, "w", {kSide, kSide}, 3);
  ValueId y = builder.Node("MatMul", {x, w});
  const ValueId first = y;
  for (int i = 1; i < count; ++i) y = builder.Node("MatMul", {y, w});
  builder.Output(builder.Node("MatMul", {builder.Node("Add", {first, y}), w}));
  return builder.Build();
}

std::vector<HostTensor> ProductInput() { return {Random({kSide, kSide}, 8)}; }

constexpr int64_t kProduct = kSide * kSide * 4;

// No two of the feature map's buffers share a byte, whenever they live.
void ExpectDisjoint(const Executable& executable) {
  const auto& planned = executable.model().planned;
  const auto& buffers = planned.buffers.problem.buffers;
  std::vector<std::pair<int64_t, int64_t>> places;
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (buffers[i].region != planned.buffers.feature_map) continue;
    const int64_t at = planned.plan.offsets[i].value();
    places.emplace_back(at, at + buffers[i].size.value());
  }
  std::sort(places.begin(), places.end());
  ASSERT_GT(places.size(), 1U);
  for (size_t i = 0; i + 1 < places.size(); ++i) EXPECT_LE(places[i].second, places[i + 1].first);
}

TEST(CompileRequestTest, WithoutOptionsPlansAreAsTheyWere) {
  const compile::PlanOptions base;
  const compile::PlanOptions asked = PlanOptionsFor({}, base);
  EXPECT_TRUE(asked.search_order);
  EXPECT_TRUE(asked.in_place);
  EXPECT_FALSE(asked.memory_priority);
  EXPECT_TRUE(asked.lifetimes.clear_together);
  EXPECT_FALSE(asked.lifetimes.feature_base_refreshable);
}

TEST(CompileRequestTest, WithReuseDisabledEveryBufferHasItsBytesToItself) {
  config::RunConfig config;
  config.disable_reuse_memory = true;
  const auto usual = ExpectSameBytes(Products(6), ProductInput(), {});
  const auto separate = ExpectSameBytes(Products(6), ProductInput(), Under(config));
  ASSERT_NE(separate, nullptr);
  ExpectDisjoint(*separate);
  EXPECT_GE(PeakOf(*separate), Bytes(6 * kProduct));
  EXPECT_LE(PeakOf(*usual), Bytes(3 * kProduct));
  for (Graph graph : {ConvolutionalNetwork(), TransformerLayer(2, 12)}) {
    const bool image = graph[graph.root().inputs[0]].declared.shape->size() == 4;
    const HostTensor x = image ? Random({1, 3, 20, 20}, 4) : Random({2, 12, kModelWidth}, 4);
    const auto compiled = ExpectSameBytes(graph, {x}, Under(config));
    if (compiled != nullptr) ExpectDisjoint(*compiled);
  }
}

// x -> named -> a -> b: what `named` makes is nobody else's, by its name as by its type.
TEST(CompileRequestTest, WhatANamedNodeMakesIsNotReused) {
  for (const std::string name : {"kept", "Softmax"}) {
    GraphBuilder builder;
    const ValueId x = builder.Input("x", FloatTensor({kSide, kSide}));
    const ValueId w = RandomWeights(builder, "w", {kSide, kSide}, 3);
    const ValueId before = builder.Node("MatMul", {x, w});
    const ValueId kept = builder.Node("Softmax", {before}, compile::With("axis", int64_t{-1}));
    ValueId y = builder.Node("Tanh", {kept});
    for (int i = 0; i < 3; ++i) y = builder.Node("MatMul", {y, w});
    builder.Output(y);
    Graph graph = builder.Build();
    graph[graph[kept].producer].name = "kept";
    config::RunConfig config;
    config.no_reuse_nodes = {name};
    const auto executable = ExpectSameBytes(graph, {Random({kSide, kSide}, 1)}, Under(config));
    ASSERT_NE(executable, nullptr);
    const auto& planned = executable->model().planned;
    const auto& problem = planned.buffers.problem;
    const auto exclusive =
        std::count_if(problem.buffers.begin(), problem.buffers.end(),
                      [](const plan::Buffer& buffer) { return buffer.exclusive; });
    EXPECT_EQ(exclusive, 1) << name;
    EXPECT_TRUE(planned.buffers.notes.empty()) << name;
  }
}

TEST(CompileRequestTest, ANameThatNothingBearsIsNoted) {
  config::RunConfig config;
  config.no_reuse_nodes = {"nobody"};
  const auto executable = ExpectSameBytes(Products(2), ProductInput(), Under(config));
  ASSERT_NE(executable, nullptr);
  ASSERT_EQ(executable->model().planned.buffers.notes.size(), 1U);
  EXPECT_EQ(executable->model().planned.buffers.notes[0].value, "nobody");
}

TEST(CompileRequestTest, WorkspacesOfANamedTypeAreNotReusedEither) {
  config::RunConfig config;
  config.no_reuse_nodes = {"Conv"};
  const auto executable =
      ExpectSameBytes(ConvolutionalNetwork(), {Random({1, 3, 20, 20}, 4)}, Under(config));
  ASSERT_NE(executable, nullptr);
  const auto& model = executable->model();
  int kept = 0;
  for (size_t i = 0; i < model.graph.nodes.size(); ++i) {
    const plan::BufferId workspace = model.planned.buffers.workspace_of[i];
    if (!workspace.valid() || model.graph.nodes[i].op != "FusedConv") continue;
    EXPECT_TRUE(model.planned.buffers.problem.buffer(workspace).exclusive);
    ++kept;
  }
  const auto& buffers = model.planned.buffers.problem.buffers;
  EXPECT_GT(std::count_if(buffers.begin(), buffers.end(),
                          [](const plan::Buffer& buffer) { return buffer.exclusive; }),
            kept);
}

TEST(CompileRequestTest, EverySortingModeGivesItsOrderAndTheSameResults) {
  for (int mode = 0; mode <= 3; ++mode) {
    config::RunConfig config;
    config.topo_sorting_mode = mode;
    const auto executable =
        ExpectSameBytes(TransformerLayer(2, 12), {Random({2, 12, kModelWidth}, 4)}, Under(config));
    ASSERT_NE(executable, nullptr);
    compile::PlanOptions by_hand;
    by_hand.search_order = false;
    by_hand.order_mode = static_cast<compile::OrderMode>(mode);
    by_hand.fold_at_load = false;
    const auto planned = compile::PlanModel(executable->model().graph, by_hand);
    ASSERT_TRUE(planned.ok());
    EXPECT_EQ(executable->model().planned.order, planned->order) << mode;
  }
}

TEST(CompileRequestTest, R21_WithoutAPolicyThePlanIsTheUsualOne) {
  config::RunConfig config;
  config.memory_config.memory_optimization_policy = config::MemoryOptimizationPolicy::kNone;
  const std::vector<HostTensor> inputs = {Random({1, 3, 20, 20}, 4)};
  const auto none = ExpectSameBytes(ConvolutionalNetwork(), inputs, Under(config));
  const auto usual = ExpectSameBytes(ConvolutionalNetwork(), inputs, {});
  EXPECT_EQ(none->model().planned.plan.offsets, usual->model().planned.plan.offsets);
  EXPECT_EQ(none->model().planned.order, usual->model().planned.order);
}

TEST(CompileRequestTest, R22_MemoryPriorityNeverGivesALargerPeakThanNone) {
  config::RunConfig config;
  config.memory_config.memory_optimization_policy =
      config::MemoryOptimizationPolicy::kMemoryPriority;
  SessionOptions priority = Under(config);
  SessionOptions none;
  // With so little effort the usual plan is poor, and the longer search shows.
  for (const int64_t steps : {int64_t{1}, compile::OrderEffort::kDefault}) {
    priority.load.plan.order_effort.steps = steps;
    none.load.plan.order_effort.steps = steps;
    for (const int count : {3, 9}) {
      const auto searched = ExpectSameBytes(Products(count), ProductInput(), priority);
      const auto usual = ExpectSameBytes(Products(count), ProductInput(), none);
      EXPECT_LE(PeakOf(*searched), PeakOf(*usual));
    }
    const std::vector<HostTensor> image = {Random({1, 3, 20, 20}, 4)};
    EXPECT_LE(PeakOf(*ExpectSameBytes(ConvolutionalNetwork(), image, priority)),
              PeakOf(*ExpectSameBytes(ConvolutionalNetwork(), image, none)));
  }
}

TEST(CompileRequestTest, WithARefreshableBaseFixedAddressesLieOutsideTheFeatureMap) {
  Graph graph = Products(4);
  graph[graph.root().nodes[1]].memory.fixed_address = true;
  config::RunConfig config;
  const auto usual = ExpectSameBytes(graph, ProductInput(), Under(config));
  config.feature_base_refreshable = true;
  const auto refreshable = ExpectSameBytes(graph, ProductInput(), Under(config));
  EXPECT_TRUE(usual->program().areas.empty());
  ASSERT_EQ(refreshable->program().areas.size(), 1U);
  EXPECT_EQ(refreshable->program().areas[0].bytes, Bytes(kProduct));
}

}  // namespace compile_request_test
}  // namespace plimsoll::engine
