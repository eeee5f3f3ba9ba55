#include "compile/bodies/cut_stretch.h"

#include <gtest/gtest.h>

#include "compile/graph_for_tests.h"
#include "compile/shapes/shapes.h"

namespace plimsoll::compile {
namespace cut_stretch_test {

using graph::Graph;
using graph::GraphBuilder;
using graph::ValueId;

// Abs, NonZero, then Gather, Neg and Add over as many as there are; the last reads Abs again.
struct Cut {
  Graph graph;
  ValueId absolute;
  ValueId places;
};

Cut MakeCut() {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({6}));
  Cut cut;
  cut.absolute = builder.Node("Abs", {x});
  cut.places = builder.Node("NonZero", {cut.absolute});
  const ValueId picked = builder.Node("Gather", {cut.absolute, cut.places});
  const ValueId largest = builder.Node("ReduceMax", {cut.absolute});
  builder.Output(builder.Node("Add", {builder.Node("Neg", {picked}), largest}));
  cut.graph = builder.Build();
  EXPECT_TRUE(InferShapes(cut.graph).ok());
  return cut;
}

TEST(CutStretchTest, AGraphIsCutWhereDataTellsASize) {
  const Cut cut = MakeCut();
  const GraphCuts cuts = FindCuts(cut.graph);
  ASSERT_EQ(cuts.single.size(), 1U);
  EXPECT_EQ(cut.graph[cuts.single[0]].op, "NonZero");
  EXPECT_EQ(cuts.stretches, 2);
  EXPECT_EQ(cuts.planned_nodes, 5);
}

TEST(CutStretchTest, AStretchIsAGraphOfItsOwn) {
  Cut cut = MakeCut();
  const Stretch first = FindStretch(cut.graph, Graph::kRoot, 0);
  EXPECT_EQ(first.end, 1U);
  EXPECT_EQ(PortsOfStretch(cut.graph, first).outputs, std::vector<ValueId>{cut.absolute});
  cut.graph[cut.places].type =
      graph::ValueType::Tensor(graph::DataType::kInt64, graph::Shape{1, 4});
  const Stretch second = FindStretch(cut.graph, Graph::kRoot, 2);
  EXPECT_EQ(second.end, cut.graph.root().nodes.size());
  const StretchPorts ports = PortsOfStretch(cut.graph, second);
  EXPECT_EQ(ports.inputs, (std::vector<ValueId>{cut.absolute, cut.places}));
  EXPECT_EQ(ports.outputs, cut.graph.root().outputs);
  Graph made = CutStretch(cut.graph, second, ports);
  ASSERT_TRUE(InferShapes(made).ok());
  EXPECT_EQ(made.root().nodes.size(), 4U);
  EXPECT_EQ(Text(made[made.root().outputs[0]].type), "float32[1,4]");
}

}  // namespace cut_stretch_test
}  // namespace plimsoll::compile
