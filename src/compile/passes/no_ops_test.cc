#include "compile/passes/no_ops.h"

#include "compile/graph_for_tests.h"
#include "compile/passes/common_subexpressions.h"
#include "compile/passes/dead_code.h"
#include "compile/passes/merge_views.h"

namespace plimsoll::compile {
namespace no_ops_test {

using graph::Dim;
using graph::Graph;
using graph::GraphBuilder;
using graph::Shape;
using graph::ValueId;

using Ints = std::vector<int64_t>;

// Relu, then what `add` puts after it, then Neg: the operators that are left.
template <typename Add>
std::string LeftOf(const Add& add) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({2, 3}));
  builder.Output(builder.Node("Neg", {add(builder, builder.Node("Relu", {x}))}));
  Graph graph = Inferred(builder);
  RemoveNoOps(graph);
  EXPECT_TRUE(InferShapes(graph).ok());
  return OperatorsOf(graph);
}

TEST(NoOpsTest, WhatGivesBackItsInputGoes) {
  const auto node = [](const char* op, graph::Attributes attributes = {}) {
    return [op, attributes](GraphBuilder& builder, ValueId value) {
      return builder.Node(op, {value}, attributes);
    };
  };
  EXPECT_EQ(LeftOf(node("Identity")), "Relu Neg");
  EXPECT_EQ(LeftOf(node("Dropout")), "Relu Neg");
  EXPECT_EQ(LeftOf(node("Cast", With("to", int64_t{1}))), "Relu Neg");
  EXPECT_EQ(LeftOf(node("Transpose", With("perm", Ints{0, 1}))), "Relu Neg");
  EXPECT_EQ(LeftOf(node("Transpose", With("perm", Ints{1, 0}))), "Relu Transpose Neg");
  const auto with_constant = [](const char* op, Ints dims, float element) {
    return [=](GraphBuilder& builder, ValueId value) {
      const auto count = static_cast<size_t>(dims.empty() ? 1 : dims[0]);
      return builder.Node(op, {value, builder.Float32s("c", dims, std::vector(count, element))});
    };
  };
  EXPECT_EQ(LeftOf(with_constant("Mul", {}, 1)), "Relu Neg");
  EXPECT_EQ(LeftOf(with_constant("Add", {3}, 0)), "Relu Neg");
  EXPECT_EQ(LeftOf(with_constant("Div", {}, 1)), "Relu Neg");
  EXPECT_EQ(LeftOf(with_constant("Mul", {}, 2)), "Relu Mul Neg");
  EXPECT_EQ(LeftOf([](GraphBuilder& builder, ValueId value) {
              return builder.Node("Add", {value, builder.Float32s("c", {4, 1, 1}, {0, 0, 0, 0})});
            }),
            "Relu Add Neg");
}

TEST(NoOpsTest, ASliceOfAllThereIsGoes) {
  const auto slice = [](int64_t start, int64_t end, int64_t step) {
    return [=](GraphBuilder& builder, ValueId value) {
      return builder.Node("Slice", {value, builder.Int64s("s", {start}), builder.Int64s("e", {end}),
                                    builder.Int64s("a", {1}), builder.Int64s("p", {step})});
    };
  };
  EXPECT_EQ(LeftOf(slice(0, 3, 1)), "Relu Neg");
  EXPECT_EQ(LeftOf(slice(0, 1000, 1)), "Relu Neg");
  EXPECT_EQ(LeftOf(slice(0, 2, 1)), "Relu Slice Neg");
  EXPECT_EQ(LeftOf(slice(2, -4, -1)), "Relu Slice Neg");
}

TEST(NoOpsTest, AnExpandThatItsReaderDoesItselfGoes) {
  const auto expanded = [](const char* op, Ints dims, Ints to) {
    return [=](GraphBuilder& builder, ValueId value) {
      const ValueId small =
          builder.Node("Abs", {builder.Input("s", FloatTensor(graph::ShapeOf(dims)))});
      return builder.Node(op, {value, builder.Node("Expand", {small, builder.Int64s("to", to)})});
    };
  };
  EXPECT_EQ(LeftOf(expanded("Add", {1, 3}, {2, 3})), "Relu Abs Add Neg");
  EXPECT_EQ(LeftOf(expanded("Div", {1}, {2, 1})), "Relu Abs Div Neg");
  EXPECT_EQ(LeftOf(expanded("Add", {1, 3}, {4, 1, 3})), "Relu Abs Expand Add Neg")
      << "the result is larger by it";
  EXPECT_EQ(LeftOf(expanded("PRelu", {1, 3}, {2, 3})), "Relu Abs Expand PRelu Neg");
}

TEST(NoOpsTest, AnImageThatIsRepeatedForEachGridIsReadByAllOfThem) {
  const auto left = [](const Shape& image, const Ints& to, const Shape& grid) {
    GraphBuilder builder;
    const ValueId x = builder.Node("Abs", {builder.Input("x", FloatTensor(image))});
    const ValueId images = builder.Node("Expand", {x, builder.Int64s("to", to)});
    builder.Output(builder.Node("GridSample", {images, builder.Input("g", FloatTensor(grid))}));
    Graph graph = Inferred(builder);
    RemoveNoOps(graph);
    EXPECT_TRUE(InferShapes(graph).ok());
    EXPECT_EQ((*graph[graph.root().outputs[0]].type.shape)[0], Dim(to[0]));
    return OperatorsOf(graph);
  };
  EXPECT_EQ(left({1, 3, 8, 8}, {4, 3, 8, 8}, {4, 5, 5, 2}), "Abs GridSample");
  EXPECT_EQ(left({1, 1, 8, 8}, {4, 3, 8, 8}, {4, 5, 5, 2}), "Abs Expand GridSample")
      << "channels are not repeated";
  EXPECT_EQ(left({3, 8, 8}, {4, 3, 8, 8}, {4, 5, 5, 2}), "Abs Expand GridSample") << "no batches";
}

TEST(NoOpsTest, ADropoutThatMayTrainStays) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({2}));
  const ValueId training =
      builder.Input("t", graph::ValueType::Tensor(graph::DataType::kBool, Shape{}));
  builder.Output(builder.Node("Dropout", {x, ValueId(), training}));
  Graph graph = Inferred(builder);
  EXPECT_EQ(RemoveNoOps(graph).effects(), 0);
}

// `reader` makes its output of the bytes of its input 0.
void Overwrite(GraphBuilder& builder, ValueId reader) {
  builder.graph()[builder.graph()[reader].producer].memory.reference_outputs = {{0, 0}};
}

TEST(NoOpsTest, WhatIsOverwrittenByReferenceStaysAValueOfItsOwn) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({2}));
  const ValueId same_as_input = builder.Node("Identity", {x});
  const ValueId over_copy = builder.Node("Neg", {same_as_input});
  const ValueId made = builder.Node("Relu", {x});
  const ValueId same_as_made = builder.Node("Cast", {made}, With("to", int64_t{1}));
  const ValueId over_made = builder.Node("Abs", {made});
  Overwrite(builder, over_copy);
  Overwrite(builder, over_made);
  for (const ValueId value : {over_copy, builder.Node("Exp", {same_as_made}), over_made}) {
    builder.Output(value);
  }
  Graph graph = Inferred(builder);
  EXPECT_EQ(RemoveNoOps(graph).effects(), 0);
  EXPECT_EQ(OperatorsOf(graph), "Identity Neg Relu Cast Abs Exp");
}

TEST(CommonSubexpressionsTest, WhatIsOverwrittenByReferenceIsMadeForItself) {
  for (const size_t overwritten : {size_t{0}, size_t{1}}) {
    GraphBuilder builder;
    const ValueId x = builder.Input("x", FloatTensor({2}));
    const ValueId read[] = {builder.Node("Exp", {builder.Node("Relu", {x})}),
                            builder.Node("Neg", {builder.Node("Relu", {x})})};
    Overwrite(builder, read[overwritten]);
    for (const ValueId value : read) builder.Output(value);
    Graph graph = Inferred(builder);
    EXPECT_EQ(MergeCommonSubexpressions(graph).effects(), 0) << overwritten;
  }
}

TEST(CommonSubexpressionsTest, TheSameWorkIsDoneOnce) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({2, 3}));
  const auto softmax = [&](int64_t axis) {
    return builder.Node("Softmax", {x}, With("axis", axis));
  };
  builder.Output(builder.Node("Add", {softmax(1), softmax(1)}));
  builder.Output(softmax(0));
  Graph graph = Inferred(builder);
  EXPECT_EQ(MergeCommonSubexpressions(graph).effects(), 1);
  EXPECT_EQ(OperatorsOf(graph), "Softmax Add Softmax");
  EXPECT_EQ(MakerOfOutput(graph).inputs[0], MakerOfOutput(graph).inputs[1]);
}

TEST(CommonSubexpressionsTest, TwoOutputsOfTheModelStayTwo) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({2}));
  builder.Output(builder.Node("Relu", {x}));
  builder.Output(builder.Node("Relu", {x}));
  Graph graph = Inferred(builder);
  EXPECT_EQ(MergeCommonSubexpressions(graph).effects(), 0);
  EXPECT_EQ(OperatorsOf(graph), "Relu Relu");
}

TEST(CommonSubexpressionsTest, RandomNumbersAreDrawnAsOftenAsBefore) {
  GraphBuilder builder;
  const auto drawn = [&] { return builder.Node("RandomNormal", {}, With("shape", Ints{2})); };
  builder.Output(builder.Node("Add", {drawn(), drawn()}));
  Graph graph = Inferred(builder);
  EXPECT_EQ(MergeCommonSubexpressions(graph).effects(), 0);
}

TEST(MergeViewsTest, TheDetourOfATransposeThroughThreeDimensionsIsOneTranspose) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({2, 5, 3, 4}));
  const ValueId heads = builder.Node("Transpose", {x}, With("perm", Ints{0, 2, 1, 3}));
  const ValueId flat = builder.Node("Reshape", {heads, builder.Int64s("a", {-1, 5, 4})});
  const ValueId turned = builder.Node("Transpose", {flat}, With("perm", Ints{0, 2, 1}));
  builder.Output(builder.Node("Reshape", {turned, builder.Int64s("b", {2, 3, 4, 5})}));
  Graph graph = Inferred(builder);
  while (MergeViews(graph).effects() + RemoveNoOps(graph).effects() > 0) {
  }
  EXPECT_EQ(OperatorsOf(graph), "Transpose");
  EXPECT_EQ(*MakerOfOutput(graph).attributes.Ints("perm"), (Ints{0, 2, 3, 1}));
  EXPECT_TRUE(InferShapes(graph).ok());
  EXPECT_EQ(graph[graph.root().outputs[0]].type, FloatTensor({2, 3, 4, 5}));
}

TEST(MergeViewsTest, AComputedTargetThatIsTheSameForEverySizeIsAConstant) {
  GraphBuilder builder;
  const Dim batch = Dim::Symbol("batch");
  const Dim sequence = Dim::Symbol("seq");
  const ValueId x = builder.Input("x", FloatTensor({batch, sequence, 12}));
  const ValueId sizes = builder.Node("Shape", {x}, With("end", int64_t{2}));
  const ValueId target =
      builder.Node("Concat", {sizes, builder.Int64s("h", {3, 4})}, With("axis", int64_t{0}));
  builder.Output(builder.Node("Reshape", {x, target}));
  Graph graph = Inferred(builder);
  EXPECT_EQ(MergeViews(graph).effects(), 1);
  EXPECT_EQ(OperatorsOf(graph), "Reshape");
  EXPECT_TRUE(InferShapes(graph).ok());
  EXPECT_EQ(graph[graph.root().outputs[0]].type, FloatTensor({batch, sequence, 3, 4}));
}

TEST(MergeViewsTest, ATransposeOfOnesIsAView) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({1, 5, 4}));
  const ValueId turned = builder.Node("Transpose", {x}, With("perm", Ints{1, 0, 2}));
  builder.Output(builder.Node("Squeeze", {turned, builder.Int64s("axis", {1})}));
  Graph graph = Inferred(builder);
  while (MergeViews(graph).effects() > 0) {
  }
  EXPECT_EQ(OperatorsOf(graph), "Reshape");
  EXPECT_EQ(graph[graph.root().outputs[0]].type, FloatTensor({5, 4}));
}

TEST(MergeViewsTest, TargetsAreFoundOnlyWhereTheyHoldForEverySize) {
  const Dim n = Dim::Symbol("n");
  const Dim m = Dim::Symbol("m");
  EXPECT_EQ(ReshapeTarget({6, 4}, {2, 12}), (Ints{2, 12}));
  EXPECT_EQ(ReshapeTarget({n, 4}, {4, n}), (Ints{4, -1}));
  EXPECT_EQ(ReshapeTarget({n, m, 4}, {n, m, 2, 2}), (Ints{0, 0, 2, 2}));
  EXPECT_EQ(ReshapeTarget({n, m}, {n, m * Dim(1), 1}), (Ints{0, 0, 1}));
  EXPECT_EQ(ReshapeTarget({n, m}, {m, n}), std::nullopt);
  EXPECT_EQ(ReshapeTarget({n, 3, m}, {n, m * Dim(3)}), std::nullopt);  // n may be 0
  EXPECT_EQ(ReshapeTarget({n, 0}, {0, n}), std::nullopt);
}

}  // namespace no_ops_test
}  // namespace plimsoll::compile
