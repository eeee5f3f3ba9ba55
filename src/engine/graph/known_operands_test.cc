#include <gtest/gtest.h>

#include "engine/session_for_tests.h"

// Operands that decide what a kernel does, made by nodes that passes leave alone: where shapes tell
// their elements, kernels get them.
namespace plimsoll::engine {
namespace known_operands_test {

using compile::FloatTensor;
using compile::With;
using graph::Graph;
using graph::GraphBuilder;
using graph::ValueId;

// The last three columns: Slice from columns - 3, counted from the shape. And their sum, over an
// axis that is rank - 1.
Graph LastColumns(int64_t columns) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({2, columns}));
  const ValueId shape = builder.Node("Shape", {x}, With("start", int64_t{1}));
  const ValueId first = builder.Node("Sub", {shape, builder.Int64s("three", {3})});
  const ValueId part = builder.Node("Slice", {x, first, shape, builder.Int64s("axes", {1})});
  builder.Output(part);
  const ValueId dims = builder.Node("Shape", {x});
  const ValueId rank = builder.Node("Shape", {dims});
  const ValueId last = builder.Node("Sub", {rank, builder.Int64s("one", {1})});
  builder.Output(builder.Node("ReduceSum", {part, last}));
  return builder.Build();
}

void ExpectLastColumns(const SessionOptions& options, Graph graph) {
  const auto session = MakeSession(options);
  const GraphId id = MustAdd(*session, std::move(graph));
  const auto outputs = MustRun(*session, id, {Floats({2, 5}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10})});
  ASSERT_EQ(outputs.size(), 2U);
  EXPECT_EQ(ElementsOf(outputs[0]), (std::vector<float>{3, 4, 5, 8, 9, 10}));
  EXPECT_EQ(ElementsOf(outputs[1]), (std::vector<float>{12, 27}));
  EXPECT_FALSE(session->LastRun(id)->ports.outputs.empty()) << "it ran inside a plan";
}

TEST(KnownOperands, HoldWherePassesAreOff) {
  SessionOptions options;
  options.load.optimise = false;
  ExpectLastColumns(options, LastColumns(5));
}

TEST(KnownOperands, HoldWhereNodesCarryMemoryAttributes) {
  const std::vector<std::pair<std::string, std::string>> attributes = {
      {"batch_label", "b0"}, {"fixed_address", "1"}, {"memory_type", "p2p"}, {"stream", "1"}};
  for (const auto& [key, value] : attributes) {
    SCOPED_TRACE(key);
    Graph graph = LastColumns(5);
    for (graph::Node& node : graph.nodes) ASSERT_TRUE(Apply(node.memory, key, value).ok());
    ExpectLastColumns({}, std::move(graph));
  }
}

}  // namespace known_operands_test
}  // namespace plimsoll::engine
