#include "compile/bodies/cut_stretch.h"

#include <gtest/gtest.h>

#include "compile/graph_for_tests.h"
#include "compile/shapes/shapes.h"

namespace plimsoll::compile {
namespace cut_stretch_test {

using graph::Graph;
using graph::GraphBuilder;
using graph::ValueId;

// Abs, NonZero, then Gather, Neg and Add over as many as there are; the last reads Abs again.
struct Cut {
  Graph graph;
  ValueId absolute;
  ValueId places;
};

Cut MakeCut() {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({6}));
  Cut cut;
  cut.absolute = builder.Node("Abs", {x});
  cut.places = builder.Node("NonZero", {cut.absolute});
  const ValueId picked = builder.Node("Gather", {cut.absolute, cut.places});
  const ValueId largest = builder.Node("ReduceMax", {cut.absolute});
  builder.Output(builder.Node("Add", {builder.Node("Neg", {picked}), largest}));
  cut.graph = builder.Build();
  EXPECT_TRUE(InferShapes(cut.graph).ok());
  return cut;
}

TEST(CutStretchTest, AGraphIsCutWhereDataTellsASize) {
  const Cut cut = MakeCut();
  const GraphCuts cuts = FindCuts(cut.graph);
  ASSERT_EQ(cuts.single.size(), 1U);
  EXPECT_EQ(cut.graph[cuts.single[0]].op, "NonZero");
  EXPECT_EQ(cuts.stretches, 2);
  EXPECT_EQ(cuts.planned_nodes, 5);
}

TEST(CutStretchTest, AStretchIsAGraphOfItsOwn) {
  Cut cut = MakeCut();
  const Stretch first = FindStretch(cut.graph, Graph::kRoot, 0);
  EXPECT_EQ(first.end, 1U);
  EXPECT_EQ(PortsOfStretch(cut.graph, first).outputs, std::vector<ValueId>{cut.absolute});
  cut.graph[cut.places].type =
      graph::ValueType::Tensor(graph::DataType::kInt64, graph::Shape{1, 4});
  const Stretch second = FindStretch(cut.graph, Graph::kRoot, 2);
  EXPECT_EQ(second.end, cut.graph.root().nodes.size());
  const StretchPorts ports = PortsOfStretch(cut.graph, second);
  EXPECT_EQ(ports.inputs, (std::vector<ValueId>{cut.absolute, cut.places}));
  EXPECT_EQ(ports.outputs, cut.graph.root().outputs);
  Graph made = CutStretch(cut.graph, second, ports);
  ASSERT_TRUE(InferShapes(made).ok());
  EXPECT_EQ(made.root().nodes.size(), 4U);
  EXPECT_EQ(Text(made[made.root().outputs[0]].type), "float32[1,4]");
}

// `limit` tells where a Range ends, and how many `others` there are where it begins.
struct Counted {
  Graph graph;
  ValueId limit;
  ValueId others;
  ValueId result;
};

Counted MakeCounted() {
  const auto integers = [](graph::Shape shape) {
    return graph::ValueType::Tensor(graph::DataType::kInt64, std::move(shape));
  };
  GraphBuilder builder;
  Counted counted;
  counted.limit = builder.Input("limit", integers({}));
  counted.others = builder.Input("others", integers({1}));
  const ValueId end = builder.Node("Add", {counted.limit, counted.limit});
  const ValueId start = builder.Node("Size", {counted.others});
  counted.result =
      builder.Node("Neg", {builder.Node("Range", {start, end, builder.Int64("1", 1)})});
  builder.Output(counted.result);
  counted.graph = builder.Build();
  EXPECT_TRUE(InferShapes(counted.graph).ok());
  return counted;
}

TEST(CutStretchTest, ElementsThatASizeFollowsFromAreAssumedAndNoOthers) {
  Counted counted = MakeCounted();
  counted.graph[counted.limit].content = graph::Content{std::vector<graph::Dim>{3}};
  EXPECT_EQ(FindStretch(counted.graph, Graph::kRoot, 0).end, 2U) << "without them it ends";
  std::vector<ValueId> asked;
  const auto three = [&](ValueId value) {
    asked.push_back(value);
    return std::optional(graph::Content{std::vector<graph::Dim>{3}});
  };
  const Stretch stretch = FindStretch(counted.graph, Graph::kRoot, 0, three);
  EXPECT_EQ(stretch.end, counted.graph.root().nodes.size());
  EXPECT_EQ(stretch.assumed, std::vector<ValueId>{counted.limit});
  EXPECT_EQ(asked, (std::vector<ValueId>{counted.others, counted.limit}));
  EXPECT_FALSE(counted.graph[counted.others].content) << "not known for good";
  EXPECT_EQ(Text(counted.graph[counted.result].type), "int64[5]");
  const StretchPorts ports = PortsOfStretch(counted.graph, stretch);
  EXPECT_EQ(ports.inputs, std::vector<ValueId>{counted.others});
  const int64_t limit = 4;
  graph::ConstantTensor constant;
  constant.type = graph::DataType::kInt64;
  constant.bytes = std::as_bytes(std::span(&limit, 1));
  Graph made = CutStretch(counted.graph, stretch, ports, {constant});
  ASSERT_TRUE(InferShapes(made).ok());
  EXPECT_EQ(made.root().inputs.size(), 1U);
  EXPECT_EQ(Text(made[made.root().outputs[0]].type), "int64[7]");
}

TEST(CutStretchTest, WhatDataTellsAllTheSameAssumesNothing) {
  Cut cut = MakeCut();
  const auto known = [](ValueId) {
    return std::optional(graph::Content{std::vector<double>(6, 1.0)});
  };
  const Stretch stretch = FindStretch(cut.graph, Graph::kRoot, 0, known);
  EXPECT_EQ(stretch.end, 1U);
  EXPECT_TRUE(stretch.assumed.empty());
}

}  // namespace cut_stretch_test
}  // namespace plimsoll::compile
