#include "compile/passes/compact.h"
#include "compile/passes/pass_results_for_tests.h"
#include "compile/passes/slices/slice_regions.h"
#include "compile/passes/slices/slice_rules.h"

namespace plimsoll::compile {
namespace slice_results_test {

using graph::Attributes;
using graph::Graph;
using graph::GraphBuilder;
using graph::ValueId;

// What is left where the region around `seed` is cut into slices; numbers are the same.
std::string CutInto(GraphBuilder& builder, ValueId seed, const SliceSizes& sizes) {
  const Graph before = Inferred(builder);
  Graph after = before;
  const int regions = SliceRegions(after, {seed}, sizes).regions;
  after = Compact(after);
  EXPECT_TRUE(InferShapes(after).ok());
  if (regions == 0) return "";
  ExpectSameResults(before, after);
  return OperatorsOf(after);
}

// x [shape] -> up -> `between` -> down.
template <typename Between>
std::string SlicedProducts(graph::Shape shape, const Between& between,
                           const SliceSizes& sizes = {.slices = 2}) {
  GraphBuilder b;
  const ValueId x = b.Node("Tanh", {b.Input("x", FloatTensor(std::move(shape)))});
  const ValueId wide = b.Node("MatMul", {x, Weights(b, "up", {8, 40})});
  const ValueId y = b.Node("MatMul", {between(b, wide), Weights(b, "down", {40, 8})});
  b.Output(b.Node("Neg", {y}));
  return CutInto(b, wide, sizes);
}

ValueId Itself(GraphBuilder&, ValueId wide) { return wide; }

TEST(SliceResultsTest, RowsOfProductsInUnevenSlices) {
  EXPECT_EQ(SlicedProducts({7, 8}, Itself, {.slices = 3}),
            "Tanh Slice MatMul MatMul Slice MatMul MatMul Slice MatMul MatMul Concat Neg");
  EXPECT_EQ(SlicedProducts({1, 7, 8}, Itself),
            "Tanh Slice MatMul MatMul Slice MatMul MatMul Concat Neg");
  EXPECT_EQ(SlicedProducts({5, 3, 8}, Itself, {.slices = 9}),
            "Tanh Slice MatMul MatMul Slice MatMul MatMul Slice MatMul MatMul Slice MatMul MatMul "
            "Slice MatMul MatMul Concat Neg")
      << "no more slices than steps";
}

TEST(SliceResultsTest, OperandsThatEverySliceReadsStayWhole) {
  const std::string sliced = "Tanh Slice MatMul Add MatMul Slice MatMul Add MatMul Concat Neg";
  EXPECT_EQ(SlicedProducts({6, 8},
                           [](GraphBuilder& b, ValueId wide) {
                             return b.Node("Add", {wide, Weights(b, "bias", {40})});
                           }),
            sliced);
  EXPECT_EQ(SlicedProducts({6, 8},
                           [](GraphBuilder& b, ValueId wide) {
                             return b.Node("Add", {Weights(b, "bias", {1, 40}), wide});
                           }),
            sliced);
  EXPECT_EQ(SlicedProducts({6, 8},
                           [](GraphBuilder& b, ValueId wide) {
                             return b.Node("Add", {wide, Weights(b, "rows", {6, 1})});
                           }),
            "")
      << "a constant for each row would have to be cut";
}

TEST(SliceResultsTest, AnotherTensorIsCutAlongWithIt) {
  EXPECT_EQ(SlicedProducts({6, 8},
                           [](GraphBuilder& b, ValueId wide) {
                             return b.Node("Mul", {b.Input("y", FloatTensor({6, 40})), wide});
                           }),
            "Tanh Slice MatMul Slice Mul MatMul Slice MatMul Slice Mul MatMul Concat Neg");
}

TEST(SliceResultsTest, WhatMixesRowsIsNotCut) {
  EXPECT_EQ(SlicedProducts({6, 8},
                           [](GraphBuilder& b, ValueId wide) {
                             return b.Node("Softmax", {wide}, With("axis", int64_t{0}));
                           }),
            "");
  EXPECT_EQ(SlicedProducts({6, 8},
                           [](GraphBuilder& b, ValueId wide) {
                             return b.Node("LayerNormalization", {wide, Weights(b, "s", {40})});
                           }),
            "Tanh Slice MatMul LayerNormalization MatMul Slice MatMul LayerNormalization MatMul "
            "Concat Neg")
      << "each row is normalised for itself";
  EXPECT_EQ(SlicedProducts({6, 8},
                           [](GraphBuilder& b, ValueId wide) {
                             return b.Node("LayerNormalization", {wide, Weights(b, "s", {6, 40})},
                                           With("axis", int64_t{0}));
                           }),
            "");
}

TEST(SliceResultsTest, ANodeOnAnotherStreamOrWithRequestsIsNotCut) {
  for (const bool stream : {false, true}) {
    GraphBuilder b;
    const ValueId x = b.Node("Tanh", {b.Input("x", FloatTensor({6, 8}))});
    const ValueId wide = b.Node("MatMul", {x, Weights(b, "up", {8, 40})});
    const ValueId y = b.Node("MatMul", {wide, Weights(b, "down", {40, 8})});
    b.Output(b.Node("Neg", {y}));
    graph::MemoryAttributes& memory = b.graph()[b.graph()[y].producer].memory;
    memory.stream = stream ? 1 : 0;
    memory.fixed_address = !stream;
    EXPECT_EQ(CutInto(b, wide, {.slices = 2}), "");
  }
}

TEST(SliceResultsTest, ALargeValueThatLeavesTheRegionKeepsItWhole) {
  GraphBuilder b;
  const ValueId x = b.Node("Tanh", {b.Input("x", FloatTensor({6, 8}))});
  const ValueId wide = b.Node("MatMul", {x, Weights(b, "up", {8, 40})});
  const ValueId y = b.Node("MatMul", {wide, Weights(b, "down", {40, 8})});
  b.Output(b.Node("Neg", {y}));
  b.Output(b.Node("ReduceSum", {wide}));
  EXPECT_EQ(CutInto(b, wide, {.slices = 2}), "");
}

TEST(SliceResultsTest, LeastSizesCountRowsOfAllOuterDimensions) {
  EXPECT_EQ(SlicedProducts({6, 8}, Itself, {.slices = 4, .least_rows = 3}),
            "Tanh Slice MatMul MatMul Slice MatMul MatMul Concat Neg");
  EXPECT_EQ(SlicedProducts({6, 8}, Itself, {.slices = 4, .least_rows = 4}), "");
  EXPECT_EQ(SlicedProducts({4, 3, 8}, Itself, {.slices = 4, .least_rows = 6}),
            "Tanh Slice MatMul MatMul Slice MatMul MatMul Concat Neg");
  EXPECT_EQ(SlicedProducts({4, 3, 8}, Itself, {.slices = 4, .least_rows = 7}), "");
}

// Channels of a convolution, with or without bias, plain, a channel at a time, or in groups.
std::string SlicedChannels(int64_t groups, bool bias, const SliceSizes& sizes = {.slices = 3}) {
  GraphBuilder b;
  const int64_t channels = 10;
  const ValueId x = b.Input("x", FloatTensor({1, channels, 6, 6}));
  Attributes attributes = With("group", groups);
  std::vector<ValueId> inputs = {b.Node("Abs", {x}),
                                 Weights(b, "w", {channels, channels / groups, 1, 1})};
  if (bias) inputs.push_back(Weights(b, "b", {channels}));
  const ValueId wide = b.Node("Conv", inputs, attributes);
  Attributes pooling = With("kernel_shape", Ints{2, 2});
  pooling.Set("strides", Ints{2, 2});
  b.Output(b.Node("Neg", {b.Node("MaxPool", {b.Node("Tanh", {wide})}, pooling)}));
  return CutInto(b, wide, sizes);
}

TEST(SliceResultsTest, ChannelsInUnevenSlices) {
  EXPECT_EQ(SlicedChannels(1, true),
            "Abs Conv Tanh MaxPool Conv Tanh MaxPool Conv Tanh MaxPool "
            "Concat Neg");
  EXPECT_EQ(SlicedChannels(1, false, {.slices = 2}),
            "Abs Conv Tanh MaxPool Conv Tanh MaxPool Concat Neg");
  EXPECT_EQ(SlicedChannels(1, true, {.slices = 2, .least_channels = 5}),
            "Abs Conv Tanh MaxPool Conv Tanh MaxPool Concat Neg");
  EXPECT_EQ(SlicedChannels(1, true, {.slices = 2, .least_channels = 6}), "");
  EXPECT_EQ(SlicedChannels(10, true, {.slices = 2}),
            "Slice Abs Conv Tanh MaxPool Slice Abs Conv Tanh MaxPool Concat Neg")
      << "a channel of the input for each of the output";
  EXPECT_EQ(SlicedChannels(5, true), "") << "groups of several channels stay together";
}

TEST(SliceResultsTest, ConstantsOfSlicesAreCounted) {
  GraphBuilder b;
  const ValueId x = b.Input("x", FloatTensor({1, 4, 8, 8}));
  const ValueId wide = b.Node("Conv", {x, Weights(b, "w", {10, 4, 1, 1}), Weights(b, "b", {10})});
  b.Output(b.Node("Neg", {b.Node("GlobalAveragePool", {wide})}));
  Graph graph = Inferred(b);
  const Sliced sliced = SliceRegions(graph, {wide}, {.slices = 2});
  EXPECT_EQ(sliced.regions, 1);
  EXPECT_EQ(sliced.constants, Bytes(4 * (10 * 4 + 10)));
}

// Where a node can be cut: the axis, its length, and what becomes of each operand.
std::optional<SliceRule> RuleOf(GraphBuilder& b, ValueId made) {
  b.Output(made);
  const Graph graph = Inferred(b);
  return SliceRuleOf(graph, graph[made].producer);
}

TEST(SliceResultsTest, AProductIsCutAlongItsRowsWhereTheRightFactorIsOneMatrix) {
  GraphBuilder b;
  const ValueId x = b.Input("x", FloatTensor({1, 6, 5, 8}));
  const auto rule = RuleOf(b, b.Node("MatMul", {x, Weights(b, "w", {8, 3})}));
  ASSERT_TRUE(rule.has_value());
  EXPECT_EQ(rule->axis, 1);
  EXPECT_EQ(rule->length, 6);
  EXPECT_EQ(rule->rows_a_step, 5);
  EXPECT_EQ(rule->channels_a_step, 0);
  EXPECT_EQ(rule->operands, (std::vector{SliceOperand::kSlice, SliceOperand::kWhole}));
  GraphBuilder c;
  EXPECT_FALSE(RuleOf(c, c.Node("MatMul", {c.Input("x", FloatTensor({2, 6, 8})),
                                           c.Input("w", FloatTensor({2, 8, 3}))})));
}

TEST(SliceResultsTest, OneRowCannotBeCut) {
  GraphBuilder b;
  EXPECT_FALSE(RuleOf(b, b.Node("Relu", {b.Input("x", FloatTensor({1, 1, 8}))})));
  GraphBuilder c;
  EXPECT_FALSE(RuleOf(c, c.Node("Relu", {c.Input("x", FloatTensor({8}))})));
}

}  // namespace slice_results_test
}  // namespace plimsoll::compile
