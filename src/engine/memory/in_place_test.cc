#include <gtest/gtest.h>

#include <cstdlib>

#include "engine/node_by_node/interpreter.h"
#include "engine/random/configured_runs_for_tests.h"
#include "engine/random/random_graph_for_tests.h"
#include "graph/text_form.h"
#include "plimsoll/base/text.h"

// Nodes that write over what they read, next to views of the same memory: a plan gives what the
// graph gives node by node, where every value has memory of its own.
namespace plimsoll::engine {
namespace in_place_test {

using compile::FloatTensor;
using compile::With;
using graph::Graph;
using graph::GraphBuilder;
using graph::ValueId;
using kernels::HostTensor;

constexpr int64_t kColumns = 5;

// PLIMSOLL_GRAPH_CASES says how many graphs are drawn.
int Cases() {
  const char* text = std::getenv("PLIMSOLL_GRAPH_CASES");
  return text == nullptr ? 300 : std::atoi(text);
}

void ExpectAsNodeByNode(const Graph& graph, const std::vector<HostTensor>& inputs,
                        const std::string& which) {
  const auto expected = Interpreter(graph).Run(Values(inputs), {});
  ASSERT_TRUE(expected.ok()) << which << ": " << expected.error().Text();
  const auto session = MakeSession();
  const std::vector<HostTensor> got = MustRun(*session, MustAdd(*session, graph), inputs);
  ASSERT_EQ(got.size(), expected->size()) << which;
  for (size_t i = 0; i < got.size(); ++i) {
    const std::vector<float> right = ElementsOf((*expected)[i].tensor);
    const std::vector<float> made = ElementsOf(got[i]);
    ASSERT_EQ(made.size(), right.size()) << which;
    for (size_t k = 0; k < made.size(); ++k) {
      ASSERT_NEAR(made[k], right[k], 1e-5) << which << ", output " << i << " at " << k << " of\n"
                                           << graph::TextForm(graph);
    }
  }
}

TEST(InPlaceTest, ARowThatEveryRowNeedsIsNotWrittenOver) {
  for (const char* op : {"Sub", "Add", "Mul"}) {
    for (const bool first : {false, true}) {
      GraphBuilder builder;
      const ValueId x = builder.Node("Tanh", {builder.Input("x", FloatTensor({4, kColumns}))});
      const ValueId row = Rows(builder, x, 0, 1, "row");
      const ValueId made = builder.Node(op, first ? std::vector{row, x} : std::vector{x, row});
      builder.Output(builder.Node("Transpose", {made}));
      ExpectAsNodeByNode(compile::Inferred(builder), {Random({4, kColumns}, 1)}, op);
    }
  }
}

TEST(InPlaceTest, UpdatesThatLieInTheTensorThatTheyChange) {
  GraphBuilder builder;
  const ValueId x = builder.Node("Tanh", {builder.Input("x", FloatTensor({4, kColumns}))});
  const ValueId places =
      builder.Node("Reshape", {builder.Int64s("p", {1, 2, 3, 0, 1, 2, 3, 0, 1, 2}),
                               builder.Int64s("shape", {2, kColumns})});
  const ValueId made = builder.Node("ScatterElements", {x, places, Rows(builder, x, 0, 2, "rows")});
  builder.Output(builder.Node("Transpose", {made}));
  ExpectAsNodeByNode(compile::Inferred(builder), {Random({4, kColumns}, 1)}, "scatter");
}

TEST(InPlaceTest, ATensorTwiceUnderTwoShapesIsStillWrittenOver) {
  GraphBuilder builder;
  const ValueId x = builder.Node("Tanh", {builder.Input("x", FloatTensor({4, kColumns}))});
  const ValueId flat = builder.Node("Reshape", {x, builder.Int64s("flat", {4 * kColumns})});
  const ValueId again = builder.Node("Sigmoid", {flat});
  const ValueId back = builder.Node("Reshape", {flat, builder.Int64s("back", {4, kColumns})});
  const ValueId square = builder.Node("Mul", {x, back});
  const ValueId sum = builder.Node(
      "Add", {square, builder.Node("Reshape", {again, builder.Int64s("too", {4, kColumns})})});
  builder.Output(builder.Node("Transpose", {sum}));
  ExpectAsNodeByNode(compile::Inferred(builder), {Random({4, kColumns}, 1)}, "twice");
}

// The rows take as many pages of 512 bytes as the tensor that they are cut from.
TEST(InPlaceTest, RowsInTheMiddleOfATensorAreNotTakenForAllOfIt) {
  GraphBuilder builder;
  const ValueId x = builder.Node("Sin", {builder.Input("x", FloatTensor({6, kColumns}))});
  const ValueId y = builder.Node("Sin", {builder.Input("y", FloatTensor({3, kColumns}))});
  const ValueId middle = builder.Node("Sigmoid", {Rows(builder, x, 1, 5, "rows")});
  const ValueId joined = builder.Node("Concat", {middle, y}, With("axis", int64_t{0}));
  builder.Output(builder.Node("Sin", {y}));
  builder.Output(builder.Node("Transpose", {joined}));
  ExpectAsNodeByNode(compile::Inferred(builder),
                     {Random({6, kColumns}, 1), Random({3, kColumns}, 2)}, "rows");
}

// One of several ways to plan the same graph.
config::RunConfig ConfigOf(uint32_t seed) {
  config::RunConfig config;
  switch (seed % 8) {
    case 0:
    case 1:
    case 2:
    case 3:
      config.topo_sorting_mode = static_cast<int>(seed % 8);
      break;
    case 4:
      config.memory_config.memory_optimization_policy =
          config::MemoryOptimizationPolicy::kMemoryPriority;
      break;
    case 5:
      config.input_reuse_mem_indexes = {0, 1, 2};
      break;
    case 6:
      config.input_reuse_mem_indexes = {1};
      config.output_reuse_mem_indexes = {0};
      break;
    default:
      config.disable_reuse_memory = true;
  }
  return config;
}

TEST(InPlaceTest, RandomGraphsGiveWhatTheyGiveNodeByNodeHoweverTheyArePlanned) {
  constexpr int64_t kWidths[] = {5, 70, 300};
  for (int i = 0; i < Cases(); ++i) {
    const auto seed = static_cast<uint32_t>(i + 1);
    const int64_t columns = kWidths[seed % 3];
    const Graph graph = RandomGraph(seed, columns).Draw();
    const auto inputs = RandomGraph::Inputs(RandomGraph::kRows, columns, seed);
    ExpectAsNodeByNode(graph, inputs, StrCat("seed ", seed));
    ExpectSameBytes(graph, inputs, Under(ConfigOf(seed)));
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
}

}  // namespace in_place_test
}  // namespace plimsoll::engine
