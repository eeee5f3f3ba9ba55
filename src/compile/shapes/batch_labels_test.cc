#include "compile/shapes/batch_labels.h"

#include <gtest/gtest.h>

#include "compile/graph_for_tests.h"

namespace plimsoll::compile {
namespace batch_labels_test {

using graph::Graph;
using graph::GraphBuilder;
using graph::ValueId;

void Label(Graph& graph, ValueId value, const std::string& label) {
  graph[graph[value].producer].memory.batch_label = label;
}

// x -> first -> second -> If (whose bodies read `second`) -> last, and an unrelated node.
struct Chain {
  Graph graph;
  ValueId first;
  ValueId second;
  ValueId inner;  // made in a body
  ValueId chosen;
  ValueId unrelated;
};

Chain MakeChain() {
  GraphBuilder builder;
  Chain made;
  const ValueId x = builder.Input("x", FloatTensor({4}));
  const ValueId c =
      builder.Input("c", graph::ValueType::Tensor(graph::DataType::kBool, graph::Shape{}));
  made.first = builder.Node("Exp", {x});
  made.second = builder.Node("Tanh", {made.first});
  graph::Attributes attributes;
  for (const char* branch : {"then_branch", "else_branch"}) {
    const graph::SubgraphId body = builder.BeginBody(branch);
    made.inner = builder.Node("Sin", {made.second});
    builder.EndBody({made.inner});
    attributes.Set(branch, graph::Attribute(body));
  }
  made.chosen = builder.Node("If", {c}, std::move(attributes));
  builder.Output(made.chosen);
  made.unrelated = builder.Node("Neg", {x});
  builder.Output(made.unrelated);
  made.graph = builder.Build();
  return made;
}

std::string CodeOf(const Status& status) { return status.ok() ? "" : status.error().code; }

TEST(BatchLabelsTest, R42_WhatNeedsABatchBelongsToIt) {
  Chain chain = MakeChain();
  Label(chain.graph, chain.first, "b0");
  for (int times = 0; times < 2; ++times) {
    ASSERT_TRUE(SpreadBatchLabels(chain.graph).ok());
    EXPECT_EQ(BatchOf(chain.graph, chain.second), "b0");
    EXPECT_EQ(BatchOf(chain.graph, chain.chosen), "b0") << "through its bodies";
    EXPECT_EQ(BatchOf(chain.graph, chain.inner), "b0");
    EXPECT_EQ(BatchOf(chain.graph, chain.unrelated), "");
    EXPECT_EQ(BatchesOf(chain.graph), std::vector<std::string>{"b0"});
  }
}

TEST(BatchLabelsTest, R42_ANodeOfOneBatchMayNotReadAnother) {
  Chain chain = MakeChain();
  Label(chain.graph, chain.first, "b0");
  Label(chain.graph, chain.chosen, "b1");
  const Status spread = SpreadBatchLabels(chain.graph);
  ASSERT_EQ(CodeOf(spread), "graph.batch");
  for (const char* part : {"If", "labelled 'b1'", "of batch 'b0'"}) {
    EXPECT_NE(spread.error().Text().find(part), std::string::npos) << spread.error().Text();
  }
}

TEST(BatchLabelsTest, R42_ABodyBelongsToTheBatchOfItsOwner) {
  Chain chain = MakeChain();
  Label(chain.graph, chain.inner, "b0");
  EXPECT_EQ(CodeOf(SpreadBatchLabels(chain.graph)), "graph.batch") << "the If has no label";
  Label(chain.graph, chain.chosen, "b0");
  EXPECT_TRUE(SpreadBatchLabels(chain.graph).ok());
  Label(chain.graph, chain.inner, "b1");
  EXPECT_EQ(CodeOf(SpreadBatchLabels(chain.graph)), "graph.batch");
}

TEST(BatchLabelsTest, ABatchDoesNotMakeTheNewValueOfAVariable) {
  Chain chain = MakeChain();
  Label(chain.graph, chain.first, "b0");
  EXPECT_EQ(CodeOf(SpreadBatchLabels(chain.graph, {{0, 0}})), "graph.batch");
  EXPECT_TRUE(SpreadBatchLabels(chain.graph, {{0, 1}}).ok());
}

}  // namespace batch_labels_test
}  // namespace plimsoll::compile
