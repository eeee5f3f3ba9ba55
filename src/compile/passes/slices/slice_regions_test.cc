#include "compile/passes/slices/slice_regions.h"

#include <gtest/gtest.h>

#include "compile/graph_for_tests.h"
#include "compile/passes/compact.h"
#include "compile/passes/slices/slice_rules.h"

namespace plimsoll::compile {
namespace slice_regions_test {

using graph::Attributes;
using graph::Graph;
using graph::GraphBuilder;
using graph::ValueId;
using Ints = std::vector<int64_t>;

ValueId Weights(GraphBuilder& builder, const std::string& name, Ints dims) {
  size_t count = 1;
  for (const int64_t dim : dims) count *= static_cast<size_t>(dim);
  return builder.Float32s(name, std::move(dims), std::vector<float>(count, 0.5F));
}

// x -> wide -> activation -> narrow -> y, with `wide` as the seed.
struct Layers {
  Graph graph;
  ValueId wide;
};

Layers TwoProducts(graph::Shape shape, bool wide_is_output = false) {
  GraphBuilder builder;
  const ValueId x = builder.Node("Relu", {builder.Input("x", FloatTensor(std::move(shape)))});
  const ValueId wide = builder.Node("MatMul", {x, Weights(builder, "up", {8, 64})});
  const ValueId bent = builder.Node("Sigmoid", {wide});
  const ValueId y = builder.Node("MatMul", {bent, Weights(builder, "down", {64, 8})});
  builder.Output(builder.Node("ReduceSum", {y}));
  if (wide_is_output) builder.Output(wide);
  return {Inferred(builder), wide};
}

int CountOf(const Graph& graph, std::string_view op) {
  int count = 0;
  for (const graph::NodeId node : graph.root().nodes) count += OperatorName(graph[node]) == op;
  return count;
}

TEST(SliceRegionsTest, RowsOfTwoProductsComeSliceBySlice) {
  Layers layers = TwoProducts({1, 96, 8});
  ASSERT_EQ(SliceRegions(layers.graph, {layers.wide}, {.slices = 3, .least_rows = 16}).regions, 1);
  const Graph sliced = Compact(layers.graph);
  EXPECT_EQ(CountOf(sliced, "MatMul"), 6);
  EXPECT_EQ(CountOf(sliced, "Slice"), 3);
  EXPECT_EQ(CountOf(sliced, "Concat"), 1);
}

TEST(SliceRegionsTest, SlicesAreNotSmallerThanAskedFor) {
  Layers layers = TwoProducts({1, 96, 8});
  EXPECT_EQ(SliceRegions(layers.graph, {layers.wide}, {.slices = 4, .least_rows = 64}).regions, 0);
  // Rows of all axes but the last count together.
  layers = TwoProducts({12, 8, 8});
  EXPECT_EQ(SliceRegions(layers.graph, {layers.wide}, {.slices = 2, .least_rows = 48}).regions, 1);
}

TEST(SliceRegionsTest, WhatTheModelReturnsIsNotSliced) {
  Layers layers = TwoProducts({1, 96, 8}, true);
  EXPECT_EQ(SliceRegions(layers.graph, {layers.wide}, {.slices = 2}).regions, 0);
}

TEST(SliceRegionsTest, ChannelsOfAConvolutionAndAPoolComeSliceBySlice) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({1, 3, 16, 16}));
  const ValueId wide = builder.Node("Conv", {x, Weights(builder, "w", {32, 3, 1, 1})});
  Attributes pooling = With("kernel_shape", Ints{2, 2});
  pooling.Set("strides", Ints{2, 2});
  builder.Output(builder.Node("ReduceSum", {builder.Node("MaxPool", {wide}, pooling)}));
  Graph graph = Inferred(builder);
  ASSERT_EQ(SliceRegions(graph, {wide}, {.slices = 2, .least_channels = 16}).regions, 1);
  const Graph sliced = Compact(graph);
  EXPECT_EQ(OperatorsOf(sliced), "Conv MaxPool Conv MaxPool Concat ReduceSum");
  EXPECT_EQ(SliceRegions(graph, {wide}, {.slices = 2}).regions, 0);  // no second time
}

TEST(SliceRegionsTest, ANodeWithoutItsFirstOutputIsLeftAlone) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({8, 1, 16}));
  const auto outputs = builder.Nodes(
      "LSTM", {x, Weights(builder, "w", {1, 32, 16}), Weights(builder, "r", {1, 32, 8})}, 2,
      With("hidden_size", int64_t{8}));
  builder.Output(outputs[1]);
  Graph graph = Inferred(builder);
  graph.nodes[graph[outputs[1]].producer.index()].outputs[0] = ValueId();
  EXPECT_EQ(SliceRegions(graph, {outputs[1]}, {.slices = 2}).regions, 0);
}

TEST(SliceRulesTest, APackOfImagesHasNoChannelsInOneRun) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({2, 3, 16, 16}));
  const ValueId y = builder.Node("Conv", {x, Weights(builder, "w", {32, 3, 1, 1})});
  builder.Output(y);
  const Graph graph = Inferred(builder);
  EXPECT_FALSE(SliceRuleOf(graph, graph[y].producer).has_value());
}

TEST(SliceRulesTest, ASumOverRowsNeedsAllOfThem) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({1, 16, 8}));
  const ValueId y = builder.Node("ReduceSum", {x});
  builder.Output(y);
  const Graph graph = Inferred(builder);
  EXPECT_FALSE(SliceRuleOf(graph, graph[y].producer).has_value());
}

}  // namespace slice_regions_test
}  // namespace plimsoll::compile
