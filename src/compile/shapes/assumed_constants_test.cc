#include "compile/shapes/assumed_constants.h"

#include <gtest/gtest.h>

#include "compile/graph_for_tests.h"
#include "compile/passes/fold/fold_constants.h"
#include "compile/passes/fuse/fuse_convolutions.h"

namespace plimsoll::compile {
namespace assumed_constants_test {

using graph::Graph;
using graph::GraphBuilder;
using graph::ValueId;

// Takes the data of a constant away, as a missing file does.
void Lose(Graph& graph, ValueId value, int64_t offset) {
  graph::ConstantTensor& constant = graph.constants[graph[value].constant.index()];
  constant.bytes = {};
  constant.storage.reset();
  constant.missing = true;
  constant.external_file = "weights.bin";
  constant.external_offset = Bytes(offset);
}

const graph::ConstantTensor& ConstantOf(const Graph& graph, ValueId value) {
  return graph[graph[value].constant];
}

TEST(AssumedConstantsTest, ConstantsOfOneFileLieAsTheFileHasThem) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({4}));
  const ValueId a = builder.Float32s("a", {4}, {1, 2, 3, 4});
  const ValueId b = builder.Float32s("b", {4}, {1, 2, 3, 4});
  const ValueId tied = builder.Float32s("tied", {4}, {1, 2, 3, 4});
  builder.Output(
      builder.Node("Add", {x, builder.Node("Add", {a, builder.Node("Add", {b, tied})})}));
  Graph graph = Inferred(builder);
  Lose(graph, a, 0);
  Lose(graph, b, 64);
  Lose(graph, tied, 64);
  EXPECT_FALSE(IsAssumed(ConstantOf(graph, a)));
  ASSERT_TRUE(AssumeMissing(graph).ok());
  EXPECT_TRUE(IsAssumed(ConstantOf(graph, a)));
  EXPECT_EQ(ConstantOf(graph, b).bytes.data(), ConstantOf(graph, a).bytes.data() + 64);
  EXPECT_EQ(ConstantOf(graph, b).bytes.data(), ConstantOf(graph, tied).bytes.data());
  EXPECT_TRUE(ConstantOf(graph, a).Doubles().empty()) << "nobody knows its elements";
}

TEST(AssumedConstantsTest, WhatDependsOnThemFoldsAndIsAssumedToo) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({3, 2}));
  const ValueId w = builder.Float32s("w", {2, 3}, {1, 2, 3, 4, 5, 6});
  const ValueId turned = builder.Node("Transpose", {w}, With("perm", std::vector<int64_t>{1, 0}));
  builder.Output(builder.Node("Add", {x, turned}));
  Graph graph = Inferred(builder);
  Lose(graph, w, 0);
  Graph lost = graph;
  EXPECT_EQ(FoldConstants(lost).effects(), 0) << "who runs must not guess";
  ASSERT_TRUE(AssumeMissing(graph).ok());
  EXPECT_EQ(FoldConstants(graph).effects(), 1);
  EXPECT_TRUE(IsAssumed(ConstantOf(graph, turned)));
  EXPECT_EQ(ConstantOf(graph, turned).dims, (std::vector<int64_t>{3, 2}));
}

TEST(AssumedConstantsTest, NormalisationsFuseIntoConvolutionsWithoutTheirNumbers) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({1, 2, 4, 4}));
  const ValueId w = builder.Float32s("w", {2, 2, 1, 1}, {1, 2, 3, 4});
  const ValueId scale = builder.Float32s("scale", {2}, {1, 2});
  const ValueId shift = builder.Float32s("shift", {2}, {3, 4});
  const ValueId made = builder.Node("Conv", {x, w});
  builder.Output(builder.Node("BatchNormalization", {made, scale, shift, shift, scale}));
  Graph graph = Inferred(builder);
  Lose(graph, w, 0);
  Lose(graph, scale, 64);
  ASSERT_TRUE(AssumeMissing(graph).ok());
  EXPECT_EQ(FuseConvolutions(graph).effects(), 1);
  const graph::Node& fused = graph[graph.root().nodes.back()];
  EXPECT_EQ(fused.op, "FusedConv");
  ASSERT_EQ(fused.inputs.size(), 3U);
  EXPECT_TRUE(IsAssumed(ConstantOf(graph, fused.inputs[1])));
  EXPECT_TRUE(IsAssumed(ConstantOf(graph, fused.inputs[2])));
}

}  // namespace assumed_constants_test
}  // namespace plimsoll::compile
