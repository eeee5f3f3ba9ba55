#include "compile/passes/precision/float_steps.h"

#include "compile/passes/fuse/fuse_attention.h"
#include "compile/passes/fuse/fused_activation.h"
#include "compile/passes/fuse/patterns.h"
#include "compile/passes/pass_results_for_tests.h"

namespace plimsoll::compile {
namespace float_steps_test {

using graph::Dim;
using graph::Graph;
using graph::GraphBuilder;
using graph::Node;
using graph::Shape;
using graph::ValueId;
using graph::ValueType;

const Shape kShape = {2, 3, 16};

ValueType Declared(const Shape& shape) {
  return ValueType::Tensor(graph::DataType::kFloat32, shape);
}

int64_t AttributeOf(const Graph& graph, const std::string& op, const std::string& name) {
  for (const Node& node : graph.nodes) {
    if (Is(node, op)) return node.attributes.Int(name, 0);
  }
  ADD_FAILURE() << "no " << op;
  return -1;
}

void Round(GraphBuilder& b, ValueId value) {
  b.Output(b.Nodes("DynamicQuantizeLinear", {value}, 3)[0]);
}

TEST(FloatStepsTest, FunctionsTakeThemWhereFloatsAreRoundedToIntegers) {
  for (const bool rounds : {false, true}) {
    GraphBuilder b;
    ValueId value = b.Input("x", FloatTensor(kShape));
    for (const char* const op : {"Gelu", "Sigmoid", "Swish"}) value = b.Node(op, {value});
    rounds ? Round(b, value) : b.Output(value);
    Graph graph = Inferred(b);
    TakeFloatSteps(graph);
    for (const char* const op : {"Gelu", "Sigmoid", "Swish"}) {
      EXPECT_EQ(AttributeOf(graph, op, "float_steps"), rounds) << op;
    }
    for (const Node& node : graph.nodes) {
      if (!Is(node, "Gelu")) continue;
      EXPECT_EQ(ActivationAttributes(graph, node)->Int("activation_steps", 0), rounds);
    }
  }
}

// What the pass makes of a LayerNormalization of a sum; shapes are what the file declares.
struct NormalizedSum {
  bool rounds = true;
  bool shared = false;  // the sum is read by somebody else too
  std::vector<Shape> declared = {};
  Shape shape = kShape;
  bool skip = false;  // a SkipLayerNormalization of the file

  int64_t RunningMeans() const {
    GraphBuilder b;
    const ValueId one = b.Input("one", FloatTensor(shape)),
                  other = b.Input("other", FloatTensor(shape));
    const ValueId sum = b.Node("Add", {one, other});
    const ValueId scale = Weights(b, "scale", {16});
    const graph::Attributes of_skip = With("of_skip", int64_t{skip});
    const ValueId made = b.Node("LayerNormalization", {sum, scale}, of_skip);
    if (shared) b.Output(b.Node("Relu", {sum}));
    rounds ? Round(b, made) : b.Output(made);
    Graph graph = Inferred(b);
    for (size_t i = 0; i < declared.size(); ++i) {
      graph[i == 0 ? one : other].declared = Declared(declared[i]);
    }
    TakeFloatSteps(graph);
    return AttributeOf(graph, "LayerNormalization", "running_means");
  }
};

TEST(FloatStepsTest, ANormalizedSumHasRunningMeansWhereOnnxRuntimeTakesItIn) {
  const Dim b = Dim::Symbol("b"), c = Dim::Symbol("c");
  EXPECT_EQ(NormalizedSum{}.RunningMeans(), 1);
  EXPECT_EQ(NormalizedSum{.rounds = false}.RunningMeans(), 0);
  EXPECT_EQ(NormalizedSum{.shared = true}.RunningMeans(), 0);
  EXPECT_EQ((NormalizedSum{.shape = {6, 16}}.RunningMeans()), 0);
  EXPECT_EQ((NormalizedSum{.declared = {{b, 3, 16}, {b, 3, 16}}}.RunningMeans()), 1);
  EXPECT_EQ((NormalizedSum{.declared = {{b, 3, 16}, {c, 3, 16}}}.RunningMeans()), 0);
  EXPECT_EQ((NormalizedSum{.shared = true, .skip = true}.RunningMeans()), 1);
  EXPECT_EQ((NormalizedSum{.rounds = false, .skip = true}.RunningMeans()), 0);
}

// Tools that quantise say nothing of the shapes of bytes, and of what is made of these.
TEST(FloatStepsTest, WhatTheFileSaysOfATensorHoldsOfItsBytes) {
  for (const bool same : {true, false}) {
    GraphBuilder b;
    const ValueId scale = Scalar(b, "scale", 0.1F);
    std::vector<ValueId> inputs, floats;
    for (const char* const name : {"one", "other"}) {
      inputs.push_back(b.Input(name, FloatTensor(kShape)));
      const ValueId bytes = b.Node("QuantizeLinear", {inputs.back(), scale});
      floats.push_back(b.Node("DequantizeLinear", {bytes, scale}));
    }
    const ValueId made =
        b.Node("LayerNormalization", {b.Node("Add", floats), Weights(b, "weights", {16})});
    b.Output(made);
    Graph graph = Inferred(b);
    graph[inputs[0]].declared = Declared({Dim::Symbol("b"), 3, 16});
    graph[inputs[1]].declared = Declared({Dim::Symbol(same ? "b" : "c"), 3, 16});
    KeepOpenFactors(graph);
    TakeFloatSteps(graph);
    EXPECT_EQ(AttributeOf(graph, "LayerNormalization", "running_means"), same);
  }
}

// The root of a size, as exporters work out the scale of scores.
TEST(FloatStepsTest, AFactorThatDependsOnAnOpenSizeStaysOutsideOfAttention) {
  for (const bool open : {false, true}) {
    GraphBuilder b;
    const Shape heads = {2, 3, 4, 8};
    const ValueId q = b.Input("q", FloatTensor(heads)), k = b.Input("k", FloatTensor({2, 3, 8, 4}));
    const ValueId width = b.Node("Shape", {q}, With("start", int64_t{3}));
    const ValueId root = b.Node(
        "Sqrt",
        {b.Node("Cast", {width}, With("to", static_cast<int64_t>(graph::DataType::kFloat32)))});
    const ValueId scores = b.Node("MatMul", {b.Node("Mul", {q, root}), k});
    const ValueId weights = b.Node("Softmax", {scores}, With("axis", int64_t{-1}));
    Round(b, b.Node("MatMul", {weights, b.Input("v", FloatTensor(heads))}));
    Graph graph = Inferred(b);
    if (open) graph[q].declared = Declared({Dim::Symbol("b"), 3, 4, 8});
    KeepOpenFactors(graph);
    EXPECT_EQ(AttributeOf(graph, "Mul", "float_steps"), open);
  }
}

}  // namespace float_steps_test
}  // namespace plimsoll::compile
