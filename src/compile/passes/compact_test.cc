#include "compile/passes/compact.h"

#include "compile/graph_for_tests.h"
#include "graph/text_form.h"

namespace plimsoll::compile {
namespace compact_test {

using graph::Graph;
using graph::GraphBuilder;
using graph::SubgraphId;
using graph::ValueId;

// An `If` between nodes that the outputs need and nodes that they do not.
Graph BranchingGraph() {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({2}));
  const ValueId condition =
      builder.Input("c", graph::ValueType::Tensor(graph::DataType::kBool, graph::Shape{}));
  builder.Input("unused", FloatTensor({7}));
  const ValueId bias = builder.Float32s("bias", {2}, {1, 2});
  builder.Float32s("nobody", {3}, {1, 2, 3});
  const SubgraphId then_body = builder.BeginBody("then");
  builder.EndBody({builder.Node("Add", {x, bias})});
  const SubgraphId else_body = builder.BeginBody("else");
  builder.EndBody({builder.Node("Neg", {x})});
  graph::Attributes branches = With("then_branch", then_body);
  branches.Set("else_branch", else_body);
  builder.Output(builder.Node("If", {condition}, branches));
  Graph graph = Inferred(builder);
  graph.metadata = {{"author", "somebody"}};
  return graph;
}

TEST(CompactTest, KeepsTheModelAndLeavesOutWhatNobodyNames) {
  const Graph before = BranchingGraph();
  const Graph after = Compact(before);
  EXPECT_EQ(TextForm(after), TextForm(before));
  EXPECT_EQ(after.constants.size(), 1);
  EXPECT_EQ(after.values.size(), before.values.size() - 1);
  EXPECT_EQ(after.root().inputs.size(), 3);
  EXPECT_EQ(after.metadata, before.metadata);
}

TEST(CompactTest, BodiesOfDroppedNodesGoToo) {
  Graph graph = BranchingGraph();
  graph.subgraphs[0].nodes.clear();
  graph.subgraphs[0].outputs = {graph.root().inputs[0]};
  const Graph after = Compact(graph);
  EXPECT_EQ(after.subgraphs.size(), 1);
  EXPECT_TRUE(after.nodes.empty());
  EXPECT_TRUE(after.constants.empty());
  EXPECT_EQ(after.values.size(), 3);
}

TEST(CompactTest, IdsAreIndicesAgain) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({2}));
  builder.Node("Exp", {x});
  builder.Output(builder.Node("Neg", {x}));
  Graph graph = Inferred(builder);
  graph.nodes[1].memory.fixed_address = true;
  graph.subgraphs[0].nodes.erase(graph.subgraphs[0].nodes.begin());
  const Graph after = Compact(graph);
  ASSERT_EQ(after.nodes.size(), 1);
  EXPECT_EQ(after.root().nodes[0], graph::NodeId(0));
  EXPECT_EQ(MakerOfOutput(after).op, "Neg");
  EXPECT_TRUE(after.nodes[0].memory.fixed_address);
  EXPECT_EQ(after[after.root().outputs[0]].name, graph[graph.root().outputs[0]].name);
}

}  // namespace compact_test
}  // namespace plimsoll::compile
