#include "compile/shapes/shapes.h"

#include <gtest/gtest.h>

#include "graph/builder.h"

namespace plimsoll::compile {
namespace shapes_test {

using graph::DataType;
using graph::Dim;
using graph::Graph;
using graph::GraphBuilder;
using graph::Shape;
using graph::ValueId;
using graph::ValueType;

ValueType Float(Shape shape) { return ValueType::Tensor(DataType::kFloat32, std::move(shape)); }

// Two inputs that share `n`, and y = MatMul(a, b).
Graph TwoInputs() {
  GraphBuilder builder;
  const ValueId a = builder.Input("alpha", Float({2, Dim::Symbol("n")}));
  const ValueId b = builder.Input("beta", Float({Dim::Symbol("n"), 5}));
  builder.Output(builder.Node("MatMul", {a, b}));
  Graph graph = builder.Build();
  for (const ValueId input : graph.root().inputs) graph[input].declared = graph[input].type;
  return graph;
}

TEST(ShapeArgumentTest, ReadsNamesAndDims) {
  const auto shape = ParseShapeArgument("x=1x3x224");
  ASSERT_TRUE(shape.ok());
  EXPECT_EQ(shape->name, "x");
  EXPECT_EQ(shape->dims, (std::vector<int64_t>{1, 3, 224}));
  EXPECT_EQ(ParseShapeArgument("a=b=7")->name, "a=b");
  EXPECT_TRUE(ParseShapeArgument("scalar=")->dims.empty());
  for (const char* bad : {"x", "=3", "x=1x", "x=-1", "x=1xy", "x=99999999999999999999"}) {
    EXPECT_EQ(ParseShapeArgument(bad).error().kind, ErrorKind::kUsage) << bad;
  }
}

TEST(InputShapesTest, OneInputsNumbersReachEveryInputThatSharesTheSymbol) {
  Graph graph = TwoInputs();
  const auto bindings = GiveInputShapes(graph, {{"alpha", {2, 9}}});
  ASSERT_TRUE(bindings.ok());
  EXPECT_EQ(bindings->at("n"), 9);
  EXPECT_EQ(graph[graph.root().inputs[1]].type, Float({9, 5}));
}

TEST(InputShapesTest, ASymbolCanBeGivenByName) {
  Graph graph = TwoInputs();
  ASSERT_TRUE(GiveInputShapes(graph, {{"n", {4}}}).ok());
  EXPECT_EQ(graph[graph.root().inputs[0]].type, Float({2, 4}));
}

TEST(InputShapesTest, ADimensionWithoutANameIsGivenByItsPlace) {
  Graph graph = TwoInputs();
  graph[graph.root().inputs[0]].declared = Float({2, Dim::Symbol("?")});
  EXPECT_EQ(ShapeNames(graph), (std::vector<std::string>{"alpha[1]", "n"}));
  ASSERT_TRUE(GiveInputShapes(graph, {{"alpha[1]", {7}}, {"n", {4}}}).ok());
  EXPECT_EQ(graph[graph.root().inputs[0]].type, Float({2, 7}));
  EXPECT_FALSE(GiveInputShapes(graph, {{"alpha", {2, 6}}, {"alpha[1]", {7}}}).ok());
}

TEST(InputShapesTest, AnExampleHasTheRankOfItsInput) {
  EXPECT_EQ(ExampleShape(Float({Dim::Symbol("n"), 3, Dim::Symbol("h")})), "1x3x8");
  EXPECT_EQ(ExampleShape(Float({5})), "5");
}

TEST(InputShapesTest, WhatContradictsIsRefusedAndNothingChanges) {
  struct Case {
    std::vector<ShapeArgument> arguments;
    const char* says;
  };
  for (const Case& c :
       {Case{{{"alpa", {2, 9}}}, "did you mean 'alpha'?"},
        Case{{{"alpha", {3, 9}}}, "dimension 0 is 2"}, Case{{{"alpha", {2}}}, "2 dimensions"},
        Case{{{"alpha", {2, 9}}, {"beta", {8, 5}}}, "both 9 and 8"}}) {
    Graph graph = TwoInputs();
    const auto bindings = GiveInputShapes(graph, c.arguments);
    ASSERT_FALSE(bindings.ok());
    EXPECT_NE(bindings.error().Text().find(c.says), std::string::npos) << bindings.error().Text();
    EXPECT_EQ(graph[graph.root().inputs[0]].type, Float({2, Dim::Symbol("n")}));
  }
}

TEST(InferShapesTest, OperatorsWithoutARowTakeWhatTheFileDeclares) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", Float({3}));
  const ValueId y = builder.Nodes("mystery", {x}, 1, {}, "aten")[0];
  builder.Output(builder.Node("Relu", {y}));
  Graph graph = builder.Build();
  graph[y].declared = Float({7, 7});
  ASSERT_TRUE(InferShapes(graph).ok());
  EXPECT_EQ(graph[graph.root().outputs[0]].type, Float({7, 7}));
}

TEST(InferShapesTest, WrongCountsAndOverflowsNameTheNode) {
  GraphBuilder few;
  few.Output(few.Node("Add", {few.Input("x", Float({3}))}));
  Graph lacking = few.Build();
  const Status counted = InferShapes(lacking);
  ASSERT_FALSE(counted.ok());
  EXPECT_EQ(counted.error().where, "node 0 'Add_0' (Add)");

  GraphBuilder huge;
  const int64_t wide = int64_t{1} << 40;
  const ValueId x = huge.Input("x", Float({wide, 1}));
  const ValueId y = huge.Input("y", Float({1, wide}));
  huge.Output(huge.Node("Add", {x, y}));
  Graph overflowing = huge.Build();
  const Status status = InferShapes(overflowing);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, "graph.shape");
  EXPECT_EQ(status.error().kind, ErrorKind::kBadFile);
}

TEST(CheckDeclaredTest, CountsAgreementUnknownsAndDifferences) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", Float({Dim::Symbol("n"), 4}));
  const ValueId same = builder.Node("Relu", {x});
  const ValueId other = builder.Node("Sigmoid", {x});
  const ValueId counted = builder.Node("NonZero", {x});
  builder.Output(counted);
  Graph graph = builder.Build();
  graph[same].declared = Float({Dim::Symbol("n"), Dim::Symbol("?")});
  graph[other].declared = Float({Dim::Symbol("n"), 5});
  graph[counted].declared = ValueType::Tensor(DataType::kInt64, Shape{2, 17});
  ASSERT_TRUE(InferShapes(graph).ok());
  const DeclaredCheck check = CheckDeclared(graph, {});
  EXPECT_EQ(check.checked, 2);
  EXPECT_EQ(check.undetermined, 1);
  ASSERT_EQ(check.mismatches.size(), 1u);
  EXPECT_EQ(check.mismatches[0].declared, "float32[n,5]");
  EXPECT_EQ(check.mismatches[0].computed, "float32[n,4]");
}

}  // namespace shapes_test
}  // namespace plimsoll::compile
