#include "engine/profile/operator_work.h"

#include <gtest/gtest.h>

#include "compile/graph_for_tests.h"
#include "compile/shapes/shapes.h"
#include "graph/builder.h"

// What nodes must at least read, write and compute.
namespace plimsoll::engine {
namespace operator_work_test {

using compile::FloatTensor;

OperatorWork WorkOfLast(graph::GraphBuilder& builder, graph::ValueId output) {
  builder.Output(output);
  graph::Graph graph = builder.Build();
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    EXPECT_TRUE(compile::InferNode(graph, graph::NodeId(i)).ok());
  }
  return WorkOf(graph, graph::NodeId(graph.nodes.size() - 1));
}

TEST(OperatorWorkTest, AProductOfMatricesMultipliesEachRowWithEachColumn) {
  graph::GraphBuilder builder;
  const auto a = builder.Input("a", FloatTensor({2, 3, 5}));
  const auto b = builder.Input("b", FloatTensor({2, 5, 7}));
  const OperatorWork work = WorkOfLast(builder, builder.Node("MatMul", {a, b}));
  EXPECT_EQ(work.operations, 2 * 2 * 3 * 5 * 7);
  EXPECT_EQ(work.read, Bytes(4 * (30 + 70)));
  EXPECT_EQ(work.written, Bytes(4 * 42));
}

TEST(OperatorWorkTest, AConvolutionMultipliesEachPlaceWithItsFilter) {
  graph::GraphBuilder builder;
  const auto x = builder.Input("x", FloatTensor({1, 4, 10, 10}));
  const auto w = builder.Input("w", FloatTensor({6, 4, 3, 3}));
  const OperatorWork work = WorkOfLast(builder, builder.Node("Conv", {x, w}));
  EXPECT_EQ(work.operations, 2 * 6 * 8 * 8 * 4 * 3 * 3);
}

graph::Attributes OneInt(const char* name, int64_t value) {
  graph::Attributes attributes;
  attributes.Set(name, value);
  return attributes;
}

TEST(OperatorWorkTest, AMatrixTimesAVectorSumsEachRowOnce) {
  graph::GraphBuilder builder;
  const auto a = builder.Input("a", FloatTensor({3, 5}));
  const auto b = builder.Input("b", FloatTensor({5}));
  EXPECT_EQ(WorkOfLast(builder, builder.Node("MatMul", {a, b})).operations, 2 * 3 * 5);
  graph::GraphBuilder vectors;
  const auto c = vectors.Input("c", FloatTensor({5}));
  const auto d = vectors.Input("d", FloatTensor({5}));
  EXPECT_EQ(WorkOfLast(vectors, vectors.Node("MatMul", {c, d})).operations, 2 * 5);
}

TEST(OperatorWorkTest, ATransposedFactorIsSummedOverItsRows) {
  graph::GraphBuilder builder;
  const auto a = builder.Input("a", FloatTensor({5, 3}));
  const auto b = builder.Input("b", FloatTensor({5, 7}));
  EXPECT_EQ(WorkOfLast(builder, builder.Node("Gemm", {a, b}, OneInt("transA", 1))).operations,
            2 * 3 * 5 * 7);
}

TEST(OperatorWorkTest, ATransposedConvolutionMultipliesEachInputWithAllThatItsChannelReaches) {
  graph::GraphBuilder builder;
  const auto x = builder.Input("x", FloatTensor({1, 4, 5, 5}));
  const auto w = builder.Input("w", FloatTensor({4, 6, 2, 2}));
  EXPECT_EQ(WorkOfLast(builder, builder.Node("ConvTranspose", {x, w})).operations,
            2 * 4 * 5 * 5 * 6 * 2 * 2);
}

TEST(OperatorWorkTest, AttentionMultipliesQueriesWithKeysAndThatWithValues) {
  const auto work = [](bool causal) {
    graph::GraphBuilder builder(24);
    const auto query = builder.Input("q", FloatTensor({2, 3, 4, 8}));
    const auto key = builder.Input("k", FloatTensor({2, 3, 6, 8}));
    const auto value = builder.Input("v", FloatTensor({2, 3, 6, 5}));
    return WorkOfLast(builder, builder.Node("Attention", {query, key, value},
                                            OneInt("is_causal", causal ? 1 : 0)))
        .operations;
  };
  EXPECT_EQ(work(false), 2 * (2 * 3 * 4 * 6 * 8) + 2 * (2 * 3 * 4 * 6 * 5));
  EXPECT_EQ(work(true), work(false) / 2);
}

TEST(OperatorWorkTest, OfOthersBytesAloneAreCounted) {
  graph::GraphBuilder builder;
  const auto x = builder.Input("x", FloatTensor({8}));
  const OperatorWork work = WorkOfLast(builder, builder.Node("Relu", {x}));
  EXPECT_EQ(work.operations, 0);
  EXPECT_EQ(work.read, Bytes(32));
}

}  // namespace operator_work_test
}  // namespace plimsoll::engine
