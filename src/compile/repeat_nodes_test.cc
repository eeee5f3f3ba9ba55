#include "compile/repeat_nodes.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/must_for_tests.h"
#include "compile/compile_model.h"
#include "compile/graph_for_tests.h"

namespace plimsoll::compile {
namespace repeat_nodes_test {

using graph::Graph;
using graph::GraphBuilder;
using graph::ValueId;
using Ints = std::vector<int64_t>;

// Two layers, each of which needs two large tensors at once, and then the same smaller one: the
// file makes that twice.
Graph TwoLayers() {
  GraphBuilder builder;
  ValueId y = builder.Node("Relu", {builder.Input("x", FloatTensor({1, 64}))});
  const ValueId column = builder.Input(
      "column", graph::ValueType::Tensor(graph::DataType::kInt64, graph::ShapeOf({512, 1})));
  const ValueId shape = builder.Int64s("shape", {512, 64});
  const ValueId large = builder.Int64s("large", {2048, 64});
  const ValueId places = builder.Int64s("places", Ints(2048, 1));
  for (const std::string layer : {"a", "b"}) {
    const ValueId wide = builder.Node("Expand", {y, large});
    const ValueId mean = builder.Node("ReduceMean", {builder.Node("Gather", {wide, places})});
    const ValueId same = builder.Node("Expand", {column, shape});
    const ValueId product =
        builder.Node("GatherElements", {builder.Node("Expand", {mean, shape}), same});
    y = builder.Node("ReduceSum", {product, builder.Int64s("axes " + layer, {0})});
  }
  builder.Output(y);
  return Inferred(builder);
}

int CountOf(const Graph& graph, std::string_view op) {
  return static_cast<int>(std::ranges::count_if(
      graph.root().nodes, [&](graph::NodeId node) { return graph[node].op == op; }));
}

const Technique* Repeated(const CompiledModel& model) {
  const auto& all = model.planned.techniques;
  const auto found = std::ranges::find(all, "made again for later readers", &Technique::name);
  return found == all.end() ? nullptr : &*found;
}

TEST(RepeatNodesTest, WhatThePassesMadeOneIsMadeAgainWhereThePeakWouldBeAbovePlainLives) {
  const Graph graph = TwoLayers();
  CompileOptions options;
  const CompiledModel merged = Must(CompileModel(graph, options));
  options.plain_peak = PlainPeak(graph);
  ASSERT_GT(FeatureMapPeak(merged.planned), *options.plain_peak);
  const CompiledModel model = Must(CompileModel(graph, options));
  EXPECT_LE(FeatureMapPeak(model.planned), *options.plain_peak);
  EXPECT_GT(CountOf(model.graph, "Expand"), CountOf(merged.graph, "Expand"));
  ASSERT_NE(Repeated(model), nullptr);
  EXPECT_GT(Repeated(model)->gained, Bytes(0));
}

TEST(RepeatNodesTest, NothingIsMadeAgainWhereThePeakKeepsToPlainLives) {
  CompileOptions options;
  options.plain_peak = FeatureMapPeak(Must(CompileModel(TwoLayers(), {})).planned);
  EXPECT_EQ(Repeated(Must(CompileModel(TwoLayers(), options))), nullptr);
}

}  // namespace repeat_nodes_test
}  // namespace plimsoll::compile
