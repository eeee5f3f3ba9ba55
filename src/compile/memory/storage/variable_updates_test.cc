#include "compile/memory/storage/variable_updates.h"

#include <gtest/gtest.h>

#include "base/must_for_tests.h"
#include "compile/graph_for_tests.h"
#include "compile/plan_model.h"

namespace plimsoll::compile {
namespace variable_updates_test {

using graph::Graph;
using graph::GraphBuilder;
using graph::NodeId;
using graph::ValueId;

constexpr int64_t kElements = 1024;

ValueId Vector(GraphBuilder& builder, const char* name) {
  return builder.Input(name, FloatTensor({kElements}));
}

PlannedModel MustPlan(const Graph& graph, const std::vector<VariableUpdate>& updates) {
  PlanOptions options;
  options.updates = updates;
  return Must(PlanModel(graph, options));
}

bool SharePlace(const PlannedModel& model, ValueId a, ValueId b) {
  return model.buffers.buffer_of[a.index()] == model.buffers.buffer_of[b.index()];
}

int64_t FeatureMap(const PlannedModel& model) {
  return model.plan.regions[model.buffers.feature_map.index()].size.value();
}

size_t PlaceInOrder(const PlannedModel& model, NodeId node) {
  return static_cast<size_t>(std::find(model.order.begin(), model.order.end(), node) -
                             model.order.begin());
}

TEST(VariableUpdatesTest, ANodeThatWorksInPlaceWritesOverTheOldValue) {
  GraphBuilder builder;
  const ValueId w = Vector(builder, "w");
  const ValueId step = builder.Node("Relu", {Vector(builder, "x")});
  const ValueId next = builder.Node("Sub", {w, step});
  builder.Output(next);
  const PlannedModel model = MustPlan(Inferred(builder), {{0, 0}});
  ASSERT_EQ(model.updates.size(), 1U);
  EXPECT_TRUE(model.updates[0].in_place) << model.updates[0].reason;
  EXPECT_EQ(model.updates[0].bytes, Bytes(4 * kElements));
  EXPECT_TRUE(SharePlace(model, w, next));
  EXPECT_FALSE(SharePlace(model, w, step)) << "the old value is needed until the new one is made";
}

TEST(VariableUpdatesTest, ANewValueThatIsMadeFromOthersTakesTheOldOnesPlace) {
  GraphBuilder builder;
  const ValueId m = Vector(builder, "m");
  const ValueId half = builder.Node("Mul", {m, builder.Float32s("half", {}, {0.5F})});
  const ValueId next = builder.Node("Add", {half, Vector(builder, "x")});
  builder.Output(next);
  const PlannedModel model = MustPlan(Inferred(builder), {{0, 0}});
  EXPECT_TRUE(model.updates[0].in_place) << model.updates[0].reason;
  EXPECT_TRUE(SharePlace(model, m, next));
}

TEST(VariableUpdatesTest, EveryReaderOfTheOldValueRunsBeforeItIsOverwritten) {
  GraphBuilder builder;
  const ValueId w = Vector(builder, "w");
  const ValueId x = Vector(builder, "x");
  std::vector<NodeId> readers;
  ValueId sum = x;
  for (int i = 0; i < 12; ++i) {
    const ValueId wide = builder.Node("Mul", {w, x});
    readers.push_back(builder.graph()[wide].producer);
    sum = builder.Node("Add", {sum, wide});
  }
  const ValueId next = builder.Node("Sub", {w, builder.Float32s("rate", {}, {0.1F})});
  builder.Output(next);
  builder.Output(sum);
  const Graph graph = Inferred(builder);
  const PlannedModel model = MustPlan(graph, {{0, 0}});
  ASSERT_TRUE(model.updates[0].in_place) << model.updates[0].reason;
  const size_t overwritten = PlaceInOrder(model, graph[next].producer);
  for (const NodeId reader : readers) EXPECT_LT(PlaceInOrder(model, reader), overwritten);
}

TEST(VariableUpdatesTest, WhatCannotBeDoneInPlaceIsHeldToTheEndAndSaysWhy) {
  struct Case {
    const char* reason;
    ValueId (*build)(GraphBuilder& builder, ValueId w, ValueId x);  // gives the new value
  };
  for (const Case& c : {
           Case{"reads its old value after the new one is there",
                [](GraphBuilder&builder, ValueId w, ValueId x) {
                  const ValueId next = builder.Node("Add", {w, x});
                  builder.Output(builder.Node("Mul", {next, w}));
                  return next;
                }},
           Case{"cannot write where it reads",
                [](GraphBuilder&builder, ValueId w, ValueId) {
                  return builder.Node(
                      "Gather", {w, builder.Int64s("rows", std::vector<int64_t>(kElements, 3))});
                }},
           Case{"its old value leaves the run as 'w'",
                [](GraphBuilder&builder, ValueId w, ValueId x) {
                  builder.Output(w);
                  return builder.Node("Add", {w, x});
                }},
           Case{"its new value is an input", [](GraphBuilder&, ValueId, ValueId x) { return x; }},
           Case{"its new value is a constant",
                [](GraphBuilder&builder, ValueId, ValueId) {
                  return builder.Float32s("c", {kElements}, std::vector<float>(kElements));
                }},
       }) {
    GraphBuilder builder;
    const ValueId w = Vector(builder, "w");
    const ValueId next = c.build(builder, w, Vector(builder, "x"));
    builder.Output(next);
    const Graph graph = Inferred(builder);
    const PlannedModel model = MustPlan(graph, {{0, graph.root().outputs.size() - 1}});
    EXPECT_FALSE(model.updates[0].in_place) << c.reason;
    EXPECT_NE(model.updates[0].reason.find(c.reason), std::string::npos) << model.updates[0].reason;
    EXPECT_FALSE(SharePlace(model, w, next)) << c.reason;
  }
}

TEST(VariableUpdatesTest, ACopiedValueKeepsItsMemoryUntilTheRunEnds) {
  GraphBuilder builder;
  const ValueId w = Vector(builder, "w");
  const ValueId next = builder.Node("Add", {w, Vector(builder, "x")});
  ValueId rest = builder.Node("Mul", {next, w});
  for (int i = 0; i < 4; ++i) {
    rest = builder.Node("MatMul", {rest, builder.Input("m" + std::to_string(i),
                                                       FloatTensor({kElements, kElements}))});
  }
  builder.Output(next);
  builder.Output(rest);
  const PlannedModel model = MustPlan(Inferred(builder), {{0, 0}});
  ASSERT_FALSE(model.updates[0].in_place);
  const plan::BufferId held = model.buffers.buffer_of[next.index()];
  const plan::Buffer& buffer = model.buffers.problem.buffer(held);
  EXPECT_EQ(buffer.region, model.buffers.feature_map);
  EXPECT_EQ(buffer.life.end, static_cast<int64_t>(model.timeline.steps.size()));
  EXPECT_GE(FeatureMap(model), 2 * 4 * kElements);
}

TEST(VariableUpdatesTest, OldValuesThatAreNewOnesElsewhereBecomeCopiesMadeFirst) {
  GraphBuilder builder;
  const ValueId a = Vector(builder, "a");
  const ValueId b = Vector(builder, "b");
  builder.Output(b);
  builder.Output(a);
  Graph graph = Inferred(builder);
  Graph still = graph;
  const std::vector<VariableUpdate> updates = {{0, 0}, {1, 1}};
  SeparateUpdates(graph, updates);
  EXPECT_EQ(OperatorsOf(graph), "Identity Identity");
  const PlannedModel model = MustPlan(graph, updates);
  EXPECT_NE(model.updates[0].in_place, model.updates[1].in_place)
      << "one can be overwritten once the other was copied aside";
  SeparateUpdates(still, {{0, 1}});
  EXPECT_EQ(OperatorsOf(still), "") << "a variable that keeps its value needs nothing";
}

TEST(VariableUpdatesTest, ANodeThatAppendsWritesOverTheOldValueWhereThatGrows) {
  const auto plan = [](bool grows, bool twice) {
    GraphBuilder builder;
    const ValueId past = builder.Input("past", FloatTensor({2, 8, 4}));
    const ValueId added = builder.Node("Relu", {builder.Input("x", FloatTensor({2, 1, 4}))});
    const ValueId next =
        builder.Node("Concat", {past, twice ? past : added}, With("axis", int64_t{1}));
    builder.Output(next);
    builder.Output(builder.Node("Relu", {next}));
    PlanOptions options;
    options.updates = {{0, 0, grows}};
    return Must(PlanModel(Inferred(builder), options));
  };
  const PlannedModel grown = plan(true, false);
  EXPECT_TRUE(grown.updates[0].in_place) << grown.updates[0].reason;
  EXPECT_EQ(grown.updates[0].bytes, Bytes(2 * 9 * 4 * 4));
  const PlannedModel kept = plan(false, false);
  EXPECT_FALSE(kept.updates[0].in_place) << "there may be no room";
  EXPECT_FALSE(plan(true, true).updates[0].in_place) << "the old value is read as what is added";
  EXPECT_LT(FeatureMap(grown), FeatureMap(kept));
}

TEST(VariableUpdatesTest, AWrongOrderIsFound) {
  GraphBuilder builder;
  const ValueId w = Vector(builder, "w");
  const ValueId seen = builder.Node("Relu", {w});
  const ValueId next = builder.Node("Neg", {w});
  builder.Output(next);
  builder.Output(seen);
  const Graph graph = Inferred(builder);
  const std::vector<VariableUpdate> updates = {{0, 0}};
  const std::vector<bool> constant(graph.values.size());
  Storages storages = FindStorages(graph, constant, {.exclusive = NewValues(graph, updates)});
  ASSERT_TRUE(JoinUpdates(graph, updates, storages)[0].in_place);
  const NodeId reads = graph[seen].producer;
  const NodeId writes = graph[next].producer;
  const auto verify = [&](const std::vector<NodeId>& order) {
    return VerifyUpdates(graph, storages, BuildTimeline(graph, storages, constant, order));
  };
  EXPECT_TRUE(verify({reads, writes}).ok());
  const Status wrong = verify({writes, reads});
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.error().code, "compile.update");
}

}  // namespace variable_updates_test
}  // namespace plimsoll::compile
