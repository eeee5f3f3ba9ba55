#include "compile/passes/loop_invariants.h"

#include <gtest/gtest.h>

#include "compile/graph_for_tests.h"
#include "compile/shapes/shapes.h"

namespace plimsoll::compile {
namespace loop_invariants_test {

using graph::Graph;
using graph::GraphBuilder;
using graph::SubgraphId;
using graph::ValueId;

// A Loop of three turns over a state, which it multiplies by a weight that it hands on, and over a
// number that it hands on twice.
struct WhileGraph {
  GraphBuilder builder;
  std::vector<ValueId> outputs;
  ValueId weight;
  SubgraphId body;

  WhileGraph() {
    const ValueId state = builder.Input("x", FloatTensor({1, 2}));
    weight = builder.Float32s("w", {2, 2}, {1, 2, 3, 4});
    const ValueId twice = builder.Float32s("t", {}, {5});
    body = builder.BeginBody("body");
    builder.BodyInput("i", {});
    const ValueId running = builder.BodyInput("go", {});
    const ValueId in = builder.BodyInput("in", {});
    const ValueId w = builder.BodyInput("w_in", {});
    const ValueId t = builder.BodyInput("t_in", {});
    const ValueId next = builder.Node("Mul", {builder.Node("MatMul", {in, w}), t});
    builder.EndBody({running, next, w, t, t});
    outputs = builder.Nodes("Loop", {builder.Int64("n", 3), {}, state, weight, twice}, 4,
                            With("body", body));
  }
  Graph Build(const std::vector<ValueId>& returned) {
    for (const ValueId value : returned) builder.Output(value);
    Graph graph = builder.Build();
    EXPECT_TRUE(InferShapes(graph).ok());
    return graph;
  }
};

const graph::Node& LoopOf(const Graph& graph) {
  return *std::find_if(graph.nodes.begin(), graph.nodes.end(),
                       [](const graph::Node& node) { return node.op == "Loop"; });
}

TEST(LoopInvariantsTest, WhatIsHandedOnUnchangedIsReadFromOutside) {
  WhileGraph made;
  const ValueId behind = made.builder.Node("Abs", {made.outputs[1]});
  Graph graph = made.Build({made.outputs[0], behind});
  const FusionCounts counts = RemoveLoopInvariants(graph);
  EXPECT_EQ(counts.effects(), 1) << "what is handed on twice stays";
  const graph::Node& loop = LoopOf(graph);
  EXPECT_EQ(loop.inputs.size(), 4u);
  EXPECT_EQ(loop.outputs.size(), 3u);
  EXPECT_EQ(graph[made.body].inputs.size(), 4u);
  EXPECT_EQ(graph[made.body].outputs.size(), 4u);
  const graph::Node& product = graph[graph[made.body].nodes[0]];
  EXPECT_EQ(product.op, "MatMul");
  EXPECT_EQ(product.inputs[1], made.weight);
  EXPECT_EQ(graph[graph[behind].producer].inputs[0], made.weight);
  EXPECT_TRUE(InferShapes(graph).ok());
}

TEST(LoopInvariantsTest, AnOutputOfTheModelKeepsItsName) {
  WhileGraph made;
  Graph graph = made.Build({made.outputs[1], made.outputs[0]});
  const std::string name = graph[made.outputs[1]].name;
  EXPECT_EQ(RemoveLoopInvariants(graph).effects(), 1);
  const ValueId output = graph.root().outputs[0];
  EXPECT_EQ(graph[output].name, name);
  EXPECT_EQ(graph[graph[output].producer].op, "Identity");
  EXPECT_EQ(graph[graph[output].producer].inputs[0], made.weight);
}

TEST(LoopInvariantsTest, ALoopThatAsksForItsMemoryStays) {
  WhileGraph made;
  Graph graph = made.Build({made.outputs[0]});
  for (graph::Node& node : graph.nodes) {
    if (node.op == "Loop") node.memory.stream = 1;
  }
  const FusionCounts counts = RemoveLoopInvariants(graph);
  EXPECT_EQ(counts.effects(), 0);
  EXPECT_EQ(LoopOf(graph).inputs.size(), 5u);
}

}  // namespace loop_invariants_test
}  // namespace plimsoll::compile
