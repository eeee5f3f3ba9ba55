#include <gtest/gtest.h>

#include "engine/variables/training_for_tests.h"

// Training steps of graphs that are run node by node: what they give is the caller's to keep, and
// variables change together or not at all.
namespace plimsoll::engine {
namespace node_by_node_training_test {

using compile::FloatTensor;
using graph::DataType;
using graph::Graph;
using graph::GraphBuilder;
using graph::ValueId;
using kernels::HostTensor;
using kernels::HostValue;

using Elements = std::vector<float>;

// Outputs: the old v itself, a sequence of it, what replaces it (v + x), and a value whose size
// only data tells.
Graph KeepsOldValues(const kernels::Dims& dims) {
  GraphBuilder builder;
  const ValueId v = builder.Input("v", FloatTensor(graph::ShapeOf(dims)));
  const ValueId x = builder.Input("x", FloatTensor(graph::ShapeOf(dims)));
  const ValueId next = builder.Node("Add", {v, x});
  builder.Output(v);
  builder.Output(builder.Node("SequenceConstruct", {x, v}));
  builder.Output(next);
  builder.Output(builder.Node("NonZero", {x}));
  Graph graph = builder.Build();
  graph[next].name = "next_v";
  graph.metadata.emplace_back("state", "v=next_v");
  return graph;
}

class OldValuesTest : public testing::TestWithParam<kernels::Dims> {};

TEST_P(OldValuesTest, AResultIsNeverTheVariablesOwnMemory) {
  const kernels::Dims dims = GetParam();
  const auto count = static_cast<size_t>(kernels::ElementCount(dims));
  const auto session = MakeSession(Training());
  const GraphId id = MustAdd(*session, KeepsOldValues(dims));
  const HostTensor one = Floats(dims, Elements(count, 1));
  const auto first = MustRunValues(*session, id, Values({one}));
  ASSERT_EQ(first.size(), 3U);
  ASSERT_EQ(first[1].elements.size(), 2U);
  MustRunValues(*session, id, Values({one}));
  EXPECT_EQ(VariableOf(*session, "v"), Elements(count, 2));
  EXPECT_EQ(ElementsOf(first[0].tensor), Elements(count, 0));
  EXPECT_EQ(ElementsOf(first[1].elements[0].tensor), Elements(count, 1));
  EXPECT_EQ(ElementsOf(first[1].elements[1].tensor), Elements(count, 0));
  std::fill_n(static_cast<float*>(first[0].tensor.data.get()), count, 9.0F);
  EXPECT_EQ(VariableOf(*session, "v"), Elements(count, 2)) << "nor is it the variable's to read";
}

TEST(NodeByNodeTrainingTest, EveryStepOfALoopReadsTheSameInputs) {
  SessionOptions options = Training();
  options.config.iterations_per_loop = 3;
  const auto session = MakeSession(options);
  const GraphId id = MustAdd(*session, KeepsOldValues({2}));
  const auto made = MustRunValues(*session, id, Values({Floats({2}, {1, 5})}));
  EXPECT_EQ(VariableOf(*session, "v"), (Elements{3, 15}));
  EXPECT_EQ(session->variables().steps(), 3);
  ASSERT_EQ(made.size(), 3U);
  EXPECT_EQ(ElementsOf(made[0].tensor), (Elements{2, 10})) << "of the last step";
}

INSTANTIATE_TEST_SUITE_P(Shapes, OldValuesTest,
                         testing::Values(kernels::Dims{}, kernels::Dims{1}, kernels::Dims{3},
                                         kernels::Dims{2, 2}));

// The new value of b has as many rows as x has elements that are not 0.
Graph NewValueOfAnySize() {
  GraphBuilder builder;
  const ValueId a = builder.Input("a", FloatTensor({2}));
  builder.Input("b", FloatTensor({2}));
  const ValueId x = builder.Input("x", FloatTensor({2}));
  const ValueId next_a = builder.Node("Add", {a, x});
  const ValueId found =
      builder.Node("Compress", {x, builder.Node("Cast", {x}, compile::With("to", int64_t{9}))});
  builder.Output(next_a);
  builder.Output(found);
  Graph graph = builder.Build();
  graph[next_a].name = "next_a";
  graph[found].name = "next_b";
  graph.metadata.emplace_back("state", "a=next_a,b=next_b");
  return graph;
}

TEST(NodeByNodeTrainingTest, ANewValueOfAnotherShapeChangesNoVariable) {
  const auto session = MakeSession(Training());
  const GraphId id = MustAdd(*session, NewValueOfAnySize());
  MustRun(*session, id, {Floats({2}, {3, 4})});
  EXPECT_EQ(VariableOf(*session, "b"), (Elements{3, 4}));
  const Status refused = session->RunValues(id, Values({Floats({2}, {5, 0})})).status();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().Text(),
            "the run was refused: variable 'b': its new value is float32[1]; let what replaces it "
            "be of its type and shape [variables.type]");
  EXPECT_EQ(VariableOf(*session, "a"), (Elements{3, 4}));
  EXPECT_EQ(VariableOf(*session, "b"), (Elements{3, 4}));
  EXPECT_EQ(session->variables().steps(), 1);
  MustRun(*session, id, {Floats({2}, {1, 1})});
  EXPECT_EQ(VariableOf(*session, "a"), (Elements{4, 5}));
  EXPECT_EQ(session->variables().steps(), 2);
}

TEST(NodeByNodeTrainingTest, TheReportNamesEveryCopy) {
  const auto session = MakeSession(Training());
  const GraphId id = MustAdd(*session, NewValueOfAnySize());
  MustRun(*session, id, {Floats({2}, {3, 4})});
  const UpdateReport report = *session->Updates(id);
  EXPECT_EQ(report.in_place, 0U);
  EXPECT_EQ(report.in_place_bytes, Bytes(0));
  EXPECT_EQ(report.copied, 2U);
  EXPECT_EQ(report.copied_bytes, Bytes(16));
  ASSERT_EQ(report.copies.size(), 2U);
  EXPECT_EQ(report.copies[0].variable, "a");
  EXPECT_EQ(report.copies[1].variable, "b");
  EXPECT_EQ(report.copies[1].reason, "the graph runs node by node");
}

// A graph with a text among its inputs has no plan, and its variables are updated all the same.
TEST(NodeByNodeTrainingTest, TextsAmongTheInputsDoNotHinderAStep) {
  GraphBuilder builder;
  const ValueId w = builder.Input("w", FloatTensor({2}));
  const ValueId text =
      builder.Input("text", graph::ValueType::Tensor(DataType::kString, graph::Shape{1}));
  const ValueId next = builder.Node("Add", {w, builder.Float32s("one", {}, {1})});
  builder.Output(next);
  builder.Output(builder.Node("Identity", {text}));
  Graph graph = builder.Build();
  graph[next].name = "next_w";
  graph.metadata.emplace_back("state", "w=next_w");
  const auto session = MakeSession(Training());
  const GraphId id = MustAdd(*session, std::move(graph));
  HostTensor given = *kernels::AllocateOnHeap(DataType::kString, {1});
  *static_cast<std::string*>(given.data.get()) = "hello";
  const auto made = MustRun(*session, id, {given});
  ASSERT_EQ(made.size(), 1U);
  EXPECT_EQ(*static_cast<const std::string*>(made[0].data.get()), "hello");
  EXPECT_EQ(VariableOf(*session, "w"), (Elements{1, 1}));
  EXPECT_EQ(session->variables().steps(), 1);
}

TEST(NodeByNodeTrainingTest, ARunOverValuesTakesNoFeed) {
  const auto session = MakeSession(Training());
  const GraphId id = MustAdd(*session, NewValueOfAnySize());
  RunOptions run;
  run.feed = [](int64_t) -> Result<std::span<const TensorView>> {
    return std::span<const TensorView>();
  };
  EXPECT_EQ(CodeOf(session->RunValues(id, Values({Floats({2}, {1, 1})}), run).status()),
            "run.inputs");
  EXPECT_EQ(CodeOf(session->RunValues(id, {}).status()), "run.inputs");
  EXPECT_EQ(VariableOf(*session, "a"), Elements(2, 0));
  MustRun(*session, id, {Floats({2}, {1, 1})});
}

TEST(NodeByNodeTrainingTest, AVariableThatIsOnlyReadHoldsUpNoOther) {
  GraphBuilder builder;
  const ValueId rate = builder.Input("rate", FloatTensor({2}));
  const ValueId v = builder.Input("v", FloatTensor({2}));
  const ValueId x = builder.Input("x", FloatTensor({2}));
  const ValueId next = builder.Node("Add", {v, builder.Node("Mul", {x, rate})});
  builder.Output(next);
  builder.Output(builder.Node("NonZero", {x}));
  Graph graph = builder.Build();
  graph[next].name = "next_v";
  graph.metadata.emplace_back("state", "rate,v=next_v");
  const auto session = MakeSession(Training());
  const GraphId id = MustAdd(*session, std::move(graph));
  ASSERT_TRUE(session->variables().Set("rate", View(Floats({2}, {2, 3}))).ok());
  for (int step = 1; step <= 2; ++step) MustRun(*session, id, {Floats({2}, {1, 1})});
  EXPECT_EQ(VariableOf(*session, "v"), (Elements{4, 6}));
  EXPECT_EQ(VariableOf(*session, "rate"), (Elements{2, 3}));
}

}  // namespace node_by_node_training_test
}  // namespace plimsoll::engine
