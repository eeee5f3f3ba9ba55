#include "compile/plan_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/must_for_tests.h"
#include "compile/graph_for_tests.h"
#include "compile/shapes/shapes.h"
#include "graph/builder.h"

namespace plimsoll::compile {
namespace plan_model_test {

using graph::Attributes;
using graph::DataType;
using graph::Graph;
using graph::GraphBuilder;
using graph::Shape;
using graph::SubgraphId;
using graph::ValueId;
using graph::ValueType;

constexpr int64_t kTensor = 4 * 1024;

ValueType Floats(Shape shape) { return ValueType::Tensor(DataType::kFloat32, std::move(shape)); }
ValueType Kilo() { return Floats({1, 1024}); }

PlannedModel MustPlan(Graph& graph, const PlanOptions& options = {}) {
  Must(InferShapes(graph));
  return Must(PlanModel(graph, options));
}

int64_t FeatureMap(const PlannedModel& model) {
  return model.plan.regions[model.buffers.feature_map.index()].size.value();
}

// The place of a value's first byte, with its region.
std::pair<size_t, int64_t> Place(const PlannedModel& model, ValueId value) {
  const plan::BufferId buffer = model.buffers.buffer_of[value.index()];
  return {model.buffers.problem.buffer(buffer).region.index(),
          model.plan.offsets[buffer.index()].value() +
              model.buffers.offset_in_buffer[value.index()].value()};
}

TEST(PlanModelTest, AChainOfElementwiseNodesLivesInTheCallersOutput) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", Kilo());
  const ValueId a = builder.Node("Sigmoid", {x});
  const ValueId b = builder.Node("Relu", {a});
  builder.Output(b);
  Graph graph = builder.Build();
  const PlannedModel model = MustPlan(graph);
  EXPECT_EQ(FeatureMap(model), 0);
  EXPECT_EQ(Place(model, a), Place(model, b));
}

TEST(PlanModelTest, AnInputOfTheModelIsNeverOverwritten) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", Kilo());
  const ValueId a = builder.Node("Relu", {x});
  const ValueId b = builder.Node("MatMul", {a, builder.Input("w", Floats({1024, 1024}))});
  builder.Output(b);
  Graph graph = builder.Build();
  const PlannedModel model = MustPlan(graph);
  EXPECT_NE(Place(model, a), Place(model, x));
  EXPECT_EQ(FeatureMap(model), kTensor);
}

// y = Sum(branch 0, branch 1, ...), each branch a wide hidden tensor cut down again.
Graph WideBranches(int count) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", Floats({1, 8}));
  const ValueId up = builder.Input("up", Floats({8, 4096}));
  const ValueId down = builder.Input("down", Floats({4096, 128}));
  std::vector<ValueId> wide;
  for (int i = 0; i < count; ++i) wide.push_back(builder.Node("MatMul", {x, up}));
  std::vector<ValueId> narrow;
  for (const ValueId value : wide) narrow.push_back(builder.Node("MatMul", {value, down}));
  const ValueId sum = builder.Node("Sum", narrow);
  builder.Output(builder.Node("MatMul", {sum, builder.Input("last", Floats({128, 2}))}));
  return builder.Build();
}

TEST(PlanModelTest, TheOrderOfExecutionIsPartOfThePlan) {
  Graph graph = WideBranches(6);
  PlanOptions as_filed;
  as_filed.search_order = false;
  const int64_t filed = FeatureMap(MustPlan(graph, as_filed));
  const PlannedModel searched = MustPlan(graph);
  EXPECT_GE(filed, 6 * 4096 * 4);
  EXPECT_LE(FeatureMap(searched), 4096 * 4 + 6 * 512);
  EXPECT_EQ(FeatureMap(searched),
            searched.plan.regions[searched.buffers.feature_map.index()].lower_bound.value());
}

TEST(PlanModelTest, ConcatenatedInputsAreWrittenInPlace) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", Floats({1, 1024}));
  const ValueId w = builder.Input("w", Floats({1024, 1024}));
  const ValueId a = builder.Node("MatMul", {x, w});
  const ValueId b = builder.Node("MatMul", {a, w});
  Attributes first_axis;
  first_axis.Set("axis", int64_t{0});
  const ValueId joined = builder.Node("Concat", {a, b}, first_axis);
  builder.Output(builder.Node("MatMul", {joined, w}));
  Graph graph = builder.Build();
  const PlannedModel model = MustPlan(graph);
  EXPECT_EQ(Place(model, a), Place(model, joined));
  EXPECT_EQ(Place(model, b).second, Place(model, joined).second + kTensor);
  EXPECT_EQ(FeatureMap(model), 2 * kTensor);
}

TEST(PlanModelTest, SplitAndReshapeAreViews) {
  GraphBuilder builder;
  const ValueId w = builder.Input("w", Floats({1024, 1024}));
  const ValueId x = builder.Node("MatMul", {builder.Input("x", Floats({2, 1024})), w});
  const std::vector<ValueId> halves = builder.Nodes("Split", {x}, 2, [] {
    Attributes attributes;
    attributes.Set("axis", int64_t{0});
    attributes.Set("num_outputs", int64_t{2});
    return attributes;
  }());
  const ValueId flat = builder.Node("Reshape", {halves[1], builder.Int64s("target", {1024, 1})});
  builder.Output(builder.Node("MatMul", {halves[0], flat}));
  Graph graph = builder.Build();
  const PlannedModel model = MustPlan(graph);
  EXPECT_EQ(Place(model, halves[0]), Place(model, x));
  EXPECT_EQ(Place(model, flat).second, Place(model, x).second + kTensor);
  EXPECT_EQ(FeatureMap(model), 2 * kTensor);
}

TEST(PlanModelTest, AnOutputThatWouldBeTheCallersInputIsACopy) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", Kilo());
  const ValueId y = builder.Node("Identity", {x});
  builder.Output(y);
  Graph graph = builder.Build();
  const PlannedModel model = MustPlan(graph);
  EXPECT_NE(Place(model, x), Place(model, y));
}

TEST(PlanModelTest, ValuesThatDependOnConstantsOnlyAreWeights) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", Floats({1, 4}));
  const ValueId table = builder.Float32s("table", {4, 4}, std::vector<float>(16, 1.0f));
  const ValueId turned = builder.Node("Transpose", {table});
  builder.Output(builder.Node("MatMul", {x, turned}));
  Graph graph = builder.Build();
  const PlannedModel model = MustPlan(graph);
  EXPECT_EQ(FeatureMap(model), 0);
  EXPECT_EQ(model.weights, Bytes(64));
  EXPECT_EQ(model.order.size(), 1u);
}

// y = MatMul(If(flag) { MatMul(MatMul(a, w), w) } else { MatMul(a, w) }, w)
Graph Branches() {
  GraphBuilder builder;
  const ValueId flag = builder.Input("flag", ValueType::Tensor(DataType::kBool, Shape{}));
  const ValueId w = builder.Input("w", Floats({1024, 1024}));
  const ValueId a = builder.Node("MatMul", {builder.Input("x", Kilo()), w});
  const SubgraphId then_body = builder.BeginBody("then");
  builder.EndBody({builder.Node("MatMul", {builder.Node("MatMul", {a, w}), w})});
  const SubgraphId else_body = builder.BeginBody("else");
  builder.EndBody({builder.Node("MatMul", {a, w})});
  Attributes bodies;
  bodies.Set("then_branch", then_body);
  bodies.Set("else_branch", else_body);
  builder.Output(builder.Node("MatMul", {builder.Node("If", {flag}, bodies), w}));
  return builder.Build();
}

TEST(PlanModelTest, BranchesShareMemoryAndCapturedValuesLiveToTheirLastReaderInside) {
  Graph graph = Branches();
  const PlannedModel model = MustPlan(graph);
  EXPECT_LE(FeatureMap(model), 3 * kTensor);
  EXPECT_GE(FeatureMap(model), 2 * kTensor);
}

TEST(PlanModelTest, WhatALoopReadsItHoldsUntilItEnds) {
  GraphBuilder builder;
  const ValueId w = builder.Input("w", Floats({1024, 1024}));
  const ValueId kept = builder.Node("MatMul", {builder.Input("x", Kilo()), w});
  const ValueId start = builder.Node("MatMul", {kept, w});
  const SubgraphId body = builder.BeginBody("body");
  builder.BodyInput("i", ValueType::Tensor(DataType::kInt64, Shape{}));
  const ValueId condition = builder.BodyInput("go", ValueType::Tensor(DataType::kBool, Shape{}));
  const ValueId state = builder.BodyInput("state", Kilo());
  const ValueId early = builder.Node("Add", {state, kept});
  const ValueId late = builder.Node("MatMul", {early, w});
  builder.EndBody({builder.Node("Identity", {condition}), late});
  Attributes bodies;
  bodies.Set("body", body);
  const ValueId loop = builder.Node("Loop", {builder.Int64("trips", 3), ValueId(), start}, bodies);
  builder.Output(builder.Node("MatMul", {loop, w}));
  Graph graph = builder.Build();
  const PlannedModel model = MustPlan(graph);
  for (const ValueId inside : {early, late, loop}) {
    EXPECT_NE(Place(model, kept), Place(model, inside));
  }
}

TEST(PlanModelTest, AnOutputWithoutReadersIsHeldForItsOwnNodeOnly) {
  GraphBuilder builder;
  const ValueId w = builder.Input("w", Floats({1024, 1024}));
  const ValueId x = builder.Input("x", Kilo());
  builder.Node("MatMul", {x, w});
  builder.Node("MatMul", {x, w});
  builder.Output(builder.Node("MatMul", {x, w}));
  Graph graph = builder.Build();
  EXPECT_EQ(FeatureMap(MustPlan(graph)), kTensor);
}

TEST(PlanModelTest, TheSameModelGivesTheSamePlanWithAnyNumberOfThreads) {
  Graph graph = WideBranches(9);
  PlanOptions one;
  one.threads = 1;
  PlanOptions three;
  three.threads = 3;
  const PlannedModel first = MustPlan(graph, one);
  const PlannedModel second = MustPlan(graph, three);
  EXPECT_EQ(first.order, second.order);
  EXPECT_EQ(first.plan.offsets, second.plan.offsets);
}

// Layers that each read all earlier ones, written as one Concat a layer.
TEST(PlanModelTest, ConcatsThatGrowTakeNoMoreThanTheLastOfThem) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", Floats({1, 8, 128}));
  std::vector<ValueId> features = {builder.Node("Sigmoid", {x})};
  constexpr int kLayers = 6;
  for (int i = 0; i < kLayers; ++i) {
    const ValueId all = builder.Node("Concat", features, With("axis", int64_t{1}));
    features.push_back(builder.Node("ReduceMax", {all}, With("axes", std::vector<int64_t>{1})));
  }
  const ValueId all = builder.Node("Concat", features, With("axis", int64_t{1}));
  builder.Output(builder.Node("ReduceSum", {all}));
  Graph graph = builder.Build();
  const PlannedModel model = MustPlan(graph);
  EXPECT_EQ(FeatureMap(model), (8 + kLayers) * 128 * 4);
  EXPECT_LT(Bytes(FeatureMap(model)), model.file_order_lower_bound);
}

TEST(PlanModelTest, AHalfOfASplitThatNobodyNeedsAnyMoreIsUsedAgain) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", Floats({1, 2, 1024}));
  const ValueId whole = builder.Node("Sigmoid", {x});
  const auto halves =
      builder.Nodes("Split", {whole, builder.Int64s("sizes", {1, 1})}, 2, With("axis", int64_t{1}));
  ValueId left = builder.Node("MatMul", {halves[0], builder.Input("a", Floats({1024, 1024}))});
  for (const char* name : {"b", "c", "d"}) {
    left = builder.Node("MatMul", {left, builder.Input(name, Floats({1024, 1024}))});
  }
  builder.Output(builder.Node("ReduceSum", {builder.Node("Mul", {left, halves[1]})}));
  Graph graph = builder.Build();
  const PlannedModel model = MustPlan(graph);
  // The half that waits, and two for the chain.
  EXPECT_EQ(FeatureMap(model), 3 * kTensor);
}

TEST(PlanModelTest, ThePlanSaysWhatItsTechniquesBrought) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", Kilo());
  const ValueId a = builder.Node("MatMul", {x, builder.Input("w", Floats({1024, 1024}))});
  const ValueId b = builder.Node("Sigmoid", {a});
  builder.Output(builder.Node("ReduceSum", {b}));
  Graph graph = builder.Build();
  const PlannedModel model = MustPlan(graph);
  ASSERT_EQ(model.techniques.size(), 1u);
  EXPECT_EQ(model.techniques[0].name, "in place");
  EXPECT_EQ(model.techniques[0].taken, 1);
  EXPECT_EQ(model.techniques[0].gained, Bytes(kTensor));
}

}  // namespace plan_model_test
}  // namespace plimsoll::compile
