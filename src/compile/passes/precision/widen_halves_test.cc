#include "compile/passes/precision/widen_halves.h"

#include "compile/passes/dead_code.h"
#include "compile/passes/no_ops.h"
#include "compile/passes/pass.h"
#include "compile/passes/pass_results_for_tests.h"
#include "kernels/element_types.h"

namespace plimsoll::compile {
namespace widen_halves_test {

using graph::DataType;
using graph::Graph;
using graph::GraphBuilder;
using graph::Shape;
using graph::ValueId;

// Halves of one rounding are told from float32 by this, and from halves rounded twice or more.
constexpr double kOneRounding = 5e-4;

graph::Attributes To(DataType type) { return With("to", static_cast<int64_t>(type)); }

ValueId Halves(GraphBuilder& b, ValueId value, DataType type = DataType::kFloat16) {
  return b.Node("Cast", {value}, To(type));
}

ValueId Constant(GraphBuilder& b, const std::string& name, const Ints& dims) {
  return Halves(b, Weights(b, name, dims));
}

// Without what nobody reads, and without Casts from float32 to itself.
FusionCounts WidenAndClean(Graph& graph, const FusionSwitches& switches) {
  const FusionCounts counts = WidenHalves(graph, switches);
  EXPECT_TRUE(InferShapes(graph).ok());
  RemoveNoOps(graph, switches);
  RemoveDeadCode(graph, switches);
  return counts;
}

// Results of halves differ by their roundings.
template <typename Build>
Graph Widened(const Build& build, double precision = 2e-3) {
  GraphBuilder builder;
  build(builder);
  const Graph before = Inferred(builder);
  Graph after = before;
  WidenAndClean(after, {});
  ExpectSameResults(before, after, precision);
  return after;
}

TEST(WidenHalvesTest, NothingIsRoundedBetweenNodes) {
  for (const DataType type : {DataType::kFloat16, DataType::kBfloat16}) {
    const auto build = [&](GraphBuilder& b) {
      const ValueId x = Halves(b, b.Input("x", FloatTensor({2, 8})), type);
      b.Output(b.Node("Relu", {b.Node("Mul", {x, b.Node("Exp", {x})})}));
    };
    const Graph after = Widened(build, type == DataType::kFloat16 ? 2e-3 : 2e-2);
    EXPECT_EQ(OperatorsOf(after),
              type == DataType::kFloat16 ? "Exp Mul Relu Cast" : "Cast Cast Exp Mul Relu Cast")
        << "a Cast of the file to bfloat16 rounds";
    EXPECT_EQ(after[after.root().outputs[0]].type.data_type, type);
  }
}

TEST(WidenHalvesTest, AGraphWithoutHalvesStays) {
  const auto build = [](GraphBuilder& b) {
    return b.Node("Relu", {b.Node("Exp", {b.Input("x", FloatTensor({2, 8}))})});
  };
  EXPECT_EQ(LeftOf(WidenHalves, build), "Exp Relu");
}

TEST(WidenHalvesTest, ARowOfATableIsWidenedAndNotTheTable) {
  const Graph after = Widened([](GraphBuilder& b) {
    const ValueId table = Constant(b, "table", {16, 8});
    const ValueId rows = b.Node("Gather", {table, b.Int64s("rows", {3, 1})});
    b.Output(b.Node("Exp", {rows}));
  });
  EXPECT_EQ(OperatorsOf(after), "Cast Gather Cast Exp Cast");
}

TEST(WidenHalvesTest, WhatMovesElementsIsWideBetweenWideNodes) {
  const Graph after = Widened([](GraphBuilder& b) {
    const ValueId x = Halves(b, b.Input("x", FloatTensor({2, 8})));
    const ValueId turned = b.Node("Transpose", {b.Node("Exp", {x})}, With("perm", Ints{1, 0}));
    b.Output(b.Node("Neg", {turned}));
  });
  EXPECT_EQ(OperatorsOf(after), "Exp Transpose Neg Cast");
}

TEST(WidenHalvesTest, ACacheThatIsReturnedGrowsAsHalves) {
  const Graph after = Widened([](GraphBuilder& b) {
    const ValueId past = Halves(b, b.Input("past", FloatTensor({4, 8})));
    const ValueId now = b.Node("Exp", {Halves(b, b.Input("x", FloatTensor({1, 8})))});
    b.Output(b.Node("Concat", {past, now}, With("axis", int64_t{0})));
  });
  EXPECT_EQ(OperatorsOf(after), "Cast Exp Cast Concat")
      << "what is small is cast, not what was there before";
}

TEST(WidenHalvesTest, ACastThatMakesHalvesStillRounds) {
  for (const DataType between : {DataType::kFloat16, DataType::kBfloat16}) {
    const Graph after = Widened(
        [&](GraphBuilder& b) {
          const ValueId x = Halves(b, b.Input("x", FloatTensor({2, 8})));
          const ValueId cast = Halves(b, b.Node("Exp", {x}), between);
          b.Output(b.Node("Add", {cast, cast}));
        },
        1e-2);
    EXPECT_EQ(OperatorsOf(after), between == DataType::kFloat16 ? "Exp Cast Cast Add Cast"
                                                                : "Exp Cast Cast Cast Add Cast");
    EXPECT_EQ(after[after.root().outputs[0]].type.data_type, between);
  }
}

// Files whose inputs stay float32 begin with such a Cast, which ONNX Runtime leaves out for nodes
// that it has in float32 alone.
TEST(WidenHalvesTest, AnInputThatIsCastIsRoundedForCastsAndMovesAlone) {
  for (const DataType from : {DataType::kFloat32, DataType::kFloat64}) {
    GraphBuilder b;
    const ValueId wide = b.Input("x", graph::ValueType::Tensor(from, Shape{2, 8}));
    const ValueId x = Halves(b, wide);
    b.Output(b.Node("Cast", {b.Node("Exp", {x})}, To(DataType::kFloat32)));
    b.Output(b.Node("Cast", {x}, To(DataType::kFloat32)));
    b.Output(b.Node("Cast", {b.Node("Transpose", {x}, With("perm", Ints{1, 0}))},
                    To(DataType::kFloat32)));
    Graph graph = Inferred(b);
    WidenAndClean(graph, {});
    EXPECT_EQ(OperatorsOf(graph), from == DataType::kFloat32 ? "Cast Exp Cast Transpose Cast"
                                                             : "Cast Cast Exp Cast Transpose Cast");
    const graph::Node& exp = graph[graph[graph.root().outputs[0]].producer];
    const ValueId read = exp.inputs[0];
    EXPECT_EQ(from == DataType::kFloat32 ? read : graph[graph[read].producer].inputs[0],
              graph.root().inputs[0])
        << "what was given, not what was rounded";
  }
}

TEST(WidenHalvesTest, NodesThatDrawAtRandomStay) {
  GraphBuilder b;
  const ValueId x = Halves(b, b.Input("x", FloatTensor({2, 8})));
  b.Output(b.Node("Bernoulli", {x}));
  Graph graph = Inferred(b);
  EXPECT_EQ(WidenAndClean(graph, {}).effects(), 0);
  EXPECT_EQ(OperatorsOf(graph), "Cast Bernoulli");
}

TEST(WidenHalvesTest, BodiesReadWhatIsWideOutsideOfThem) {
  GraphBuilder b;
  const ValueId x = Halves(b, b.Input("x", FloatTensor({2, 8})));
  const ValueId outside = b.Node("Exp", {x});
  const ValueId yes = b.Input("yes", graph::ValueType::Tensor(DataType::kBool, Shape{}));
  graph::Attributes branches;
  branches.Set("then_branch", b.BeginBody("then"));
  b.EndBody({b.Node("Neg", {outside})});
  branches.Set("else_branch", b.BeginBody("else"));
  b.EndBody({b.Node("Abs", {outside})});
  b.Output(b.Node("Sqrt", {b.Node("If", {yes}, branches)}));
  Graph graph = Inferred(b);
  WidenAndClean(graph, {});
  EXPECT_EQ(OperatorsOf(graph), "Exp If Cast Sqrt Cast");
  EXPECT_EQ(OperatorsOf(graph, graph::SubgraphId(1)), "Neg Cast");
  EXPECT_EQ(OperatorsOf(graph, graph::SubgraphId(2)), "Abs Cast");
}

// What is known of the result is that it was rounded once, at the end.
TEST(WidenHalvesTest, ConstantsOfProductsStayHalvesAndOthersAreWidenedOnce) {
  GraphBuilder b;
  const ValueId x = Halves(b, b.Input("x", FloatTensor({4, 640})));
  const ValueId product = b.Node("MatMul", {x, Constant(b, "w", {640, 640})});
  b.Output(b.Node("Add", {product, Constant(b, "bias", {640})}));
  const Graph before = Inferred(b);
  Graph after = before;
  FusionCounts counts;
  ASSERT_TRUE(Simplify(after, counts).ok());
  EXPECT_EQ(OperatorsOf(after), "plimsoll::FusedMatMul Cast");
  const graph::Node& fused = after[after.root().nodes[0]];
  EXPECT_EQ(after[fused.inputs[1]].type.data_type, DataType::kFloat16);
  EXPECT_EQ(after[fused.inputs[2]].type.data_type, DataType::kFloat32);
  ExpectSameResults(before, after, kOneRounding * 4);
}

TEST(WidenHalvesTest, ATurnedConstantOfAProductIsNeverCopied) {
  GraphBuilder b;
  const ValueId x = Halves(b, b.Input("x", FloatTensor({4, 640})));
  const ValueId turned =
      b.Node("Transpose", {Constant(b, "w", {900, 640})}, With("perm", Ints{1, 0}));
  b.Output(b.Node("MatMul", {x, turned}));
  const Graph before = Inferred(b);
  Graph after = before;
  FusionCounts counts;
  ASSERT_TRUE(Simplify(after, counts).ok());
  EXPECT_EQ(OperatorsOf(after), "plimsoll::FusedMatMul Cast");
  const graph::Node& fused = after[after.root().nodes[0]];
  EXPECT_EQ(fused.attributes.Int("transB", 0), 1);
  EXPECT_EQ(after[fused.inputs[1]].type.data_type, DataType::kFloat16);
  ExpectSameResults(before, after, kOneRounding * 4);
}

}  // namespace widen_halves_test
}  // namespace plimsoll::compile
