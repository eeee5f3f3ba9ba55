#include "compile/passes/rewriter.h"

#include "compile/graph_for_tests.h"
#include "compile/passes/fuse/patterns.h"

namespace plimsoll::compile {
namespace rewriter_test {

using graph::Graph;
using graph::GraphBuilder;
using graph::NodeId;
using graph::ValueId;

// y = x * x; If(c) { -x } else { |y| }
struct Branching {
  GraphBuilder builder;
  ValueId x = builder.Input("x", FloatTensor({2}));
  ValueId condition =
      builder.Input("c", graph::ValueType::Tensor(graph::DataType::kBool, graph::Shape{}));
  ValueId y = builder.Node("Mul", {x, x});
  graph::SubgraphId then_body;
  Graph graph;

  Branching() {
    then_body = builder.BeginBody("then");
    builder.EndBody({builder.Node("Neg", {x})});
    const graph::SubgraphId else_body = builder.BeginBody("else");
    builder.EndBody({builder.Node("Abs", {y})});
    graph::Attributes branches = With("then_branch", then_body);
    branches.Set("else_branch", else_body);
    builder.Output(builder.Node("If", {condition}, branches));
    graph = Inferred(builder);
  }
};

TEST(RewriterTest, KnowsEveryPlaceThatReadsAValueInAllBodies) {
  Branching branching;
  Rewriter rewriter(branching.graph);
  EXPECT_EQ(rewriter.readers(branching.x).size(), 3);
  EXPECT_TRUE(rewriter.HasOneReader(branching.y));
  EXPECT_TRUE(rewriter.IsOutput(branching.graph[branching.then_body].outputs[0]));
  EXPECT_FALSE(rewriter.HasOneReader(branching.graph.root().outputs[0]));
}

TEST(RewriterTest, ADroppedNodeTakesTheReadersInItsBodiesAlong) {
  Branching branching;
  Graph& graph = branching.graph;
  Rewriter rewriter(graph);
  rewriter.Drop(graph[graph.root().outputs[0]].producer);
  EXPECT_EQ(rewriter.readers(branching.x).size(), 2);
  EXPECT_EQ(rewriter.ReaderCount(branching.y), 0);
  EXPECT_EQ(rewriter.ReaderCount(branching.condition), 0);
  EXPECT_TRUE(rewriter.NodesOf(branching.then_body).empty());
}

TEST(RewriterTest, AnOutputKeepsItsNameWhenAnotherValueStandsInForIt) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({2}));
  const ValueId relu = builder.Node("Relu", {x});
  const ValueId same = builder.Node("Identity", {relu});
  const ValueId other = builder.Node("Neg", {relu});
  builder.Output(same);
  builder.Output(other);
  Graph graph = Inferred(builder);

  {
    Rewriter rewriter(graph);
    const NodeId identity = graph[same].producer;
    ASSERT_TRUE(rewriter.StandIn(same, relu));
    rewriter.Drop(identity);
  }
  EXPECT_EQ(graph.root().outputs[0], same);
  EXPECT_EQ(MakerOfOutput(graph).op, "Relu");
  EXPECT_EQ(MakerOfOutput(graph, 1).inputs[0], same);
  EXPECT_EQ(OperatorsOf(graph), "Relu Neg");
}

TEST(RewriterTest, AnInputOfTheModelCannotBeOneOfItsOutputs) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({2}));
  const ValueId same = builder.Node("Identity", {x});
  builder.Output(same);
  Graph graph = Inferred(builder);
  Rewriter rewriter(graph);
  EXPECT_FALSE(rewriter.StandIn(same, x));
  EXPECT_EQ(OperatorsOf(graph), "Identity");
}

TEST(RewriterTest, DroppingANodeTakesAlongWhatOnlyItNeeded) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({2}));
  const ValueId kept = builder.Node("Abs", {x});
  const ValueId lost = builder.Node("Neg", {builder.Node("Exp", {kept})});
  builder.Output(builder.Node("Relu", {kept}));
  Graph graph = Inferred(builder);
  {
    Rewriter rewriter(graph);
    rewriter.DropUnused(graph[lost].producer);
    EXPECT_EQ(rewriter.readers(kept),
              (std::vector<NodeId>{graph[graph.root().outputs[0]].producer}));
  }
  EXPECT_EQ(OperatorsOf(graph), "Abs Relu");
}

TEST(RewriterTest, ANewNodeStandsJustBeforeItsPlace) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({2}));
  const ValueId y = builder.Node("Abs", {x});
  builder.Output(builder.Node("Neg", {y}));
  Graph graph = Inferred(builder);
  {
    Rewriter rewriter(graph);
    const NodeId neg = graph[graph.root().outputs[0]].producer;
    const ValueId relu = rewriter.InsertBefore(neg, NewNode(graph[neg], "Relu", {y}));
    rewriter.SetInput(neg, 0, relu);
    EXPECT_TRUE(rewriter.HasOneReader(relu));
  }
  EXPECT_EQ(OperatorsOf(graph), "Abs Relu Neg");
  EXPECT_TRUE(InferShapes(graph).ok());
}

TEST(RewriterTest, NewNodesStandBeforeNewNodesAndBeforeThoseThatAreGone) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({2}));
  const ValueId gone = builder.Node("Abs", {x});
  const ValueId last = builder.Node("Neg", {x});
  builder.Output(last);
  Graph graph = Inferred(builder);
  {
    Rewriter rewriter(graph);
    const NodeId abs = graph[gone].producer;
    const NodeId neg = graph[last].producer;
    const ValueId relu = rewriter.InsertBefore(abs, NewNode(graph[neg], "Relu", {x}));
    const NodeId first = graph[relu].producer;
    const ValueId exp = rewriter.InsertBefore(first, NewNode(graph[neg], "Exp", {x}));
    rewriter.SetInput(first, 0, exp);
    rewriter.Drop(abs);
    const auto nodes = rewriter.NodesOf(Graph::kRoot);
    EXPECT_EQ(nodes, (std::vector<NodeId>{graph[exp].producer, first, neg}));
    rewriter.SetInput(neg, 0, rewriter.InsertBefore(neg, NewNode(graph[neg], "Tanh", {relu})));
  }
  EXPECT_EQ(OperatorsOf(graph), "Exp Relu Tanh Neg");
}

}  // namespace rewriter_test
}  // namespace plimsoll::compile
