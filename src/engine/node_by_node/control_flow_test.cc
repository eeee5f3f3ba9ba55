#include "engine/node_by_node/control_flow.h"

#include <gtest/gtest.h>

#include <atomic>

#include "engine/session_for_tests.h"
#include "kernels/element_types.h"

// If, Loop, Scan and SequenceMap as a session runs them.
namespace plimsoll::engine {
namespace control_flow_test {

using compile::FloatTensor;
using compile::With;
using graph::Attributes;
using graph::DataType;
using graph::Dim;
using graph::Graph;
using graph::GraphBuilder;
using graph::Shape;
using graph::SubgraphId;
using graph::ValueId;
using graph::ValueType;
using kernels::HostTensor;
using kernels::HostValue;

ValueType Scalar(DataType type) { return ValueType::Tensor(type, Shape{}); }

// then: relu(x) * 2, else: x + x of the outer graph; what follows reads the result.
Graph Branches(const Dim& rows) {
  GraphBuilder builder;
  const ValueId condition = builder.Input("condition", Scalar(DataType::kBool));
  const ValueId x = builder.Input("x", FloatTensor({rows, 4}));
  const ValueId two = builder.Float32s("two", {}, {2});
  Attributes attributes;
  const SubgraphId then_branch = builder.BeginBody("then");
  builder.EndBody({builder.Node("Mul", {builder.Node("Relu", {x}), two})});
  attributes.Set("then_branch", then_branch);
  const SubgraphId else_branch = builder.BeginBody("else");
  builder.EndBody({builder.Node("Add", {x, x})});
  attributes.Set("else_branch", else_branch);
  const ValueId chosen = builder.Node("If", {condition}, std::move(attributes));
  builder.Output(builder.Node("Neg", {chosen}));
  return builder.Build();
}

TEST(ControlFlowTest, BothBranchesOfAnIfRunInsideOnePlan) {
  const auto session = MakeSession();
  const HostTensor x = Floats({1, 4}, {-1, 2, -3, 4});
  for (const Dim& rows : {Dim(1), Dim::Symbol("rows")}) {
    const GraphId id = MustAdd(*session, Branches(rows));
    const std::vector<TensorView> inputs = {View(Bool(true)), View(x)};
    std::string reason;
    const auto compiled = session->Compile(id, inputs, &reason);
    ASSERT_TRUE(compiled.ok()) << compiled.error().Text();
    EXPECT_NE(*compiled, nullptr) << reason;
    for (int run = 0; run < 2; ++run) {
      EXPECT_EQ(ElementsOf(MustRun(*session, id, {Bool(true), x})[0]),
                (std::vector<float>{0, -4, 0, -8}));
      EXPECT_EQ(ElementsOf(MustRun(*session, id, {Bool(false), x})[0]),
                (std::vector<float>{2, -4, 6, -8}));
    }
    EXPECT_EQ(session->Memory(id)->plans, 1);
  }
}

// One branch gives a value of the outer graph in another shape, or joined with something; the other
// makes its own. The outer graph reads the value afterwards.
TEST(ControlFlowTest, WhatABranchHandsThroughIsNotWrittenOverByTheOther) {
  for (const bool joined : {false, true}) {
    for (const bool optimise : {false, true}) {
      SCOPED_TRACE(StrCat(joined ? "joined" : "seen", optimise ? "" : ", no passes"));
      GraphBuilder builder;
      const ValueId condition = builder.Input("condition", Scalar(DataType::kBool));
      const ValueId x = builder.Input("x", FloatTensor({2, 2}));
      const ValueId outer = builder.Node("Neg", {x});
      Attributes attributes;
      const SubgraphId then_branch = builder.BeginBody("then");
      const ValueId own = builder.Node("Mul", {outer, builder.Float32s("two", {}, {2})});
      const ValueId flat = builder.Int64s("flat", {4});
      const ValueId eight = builder.Node("Concat", {own, x}, With("axis", int64_t{0}));
      builder.EndBody({joined ? eight : builder.Node("Reshape", {own, flat})});
      attributes.Set("then_branch", then_branch);
      const SubgraphId else_branch = builder.BeginBody("else");
      const ValueId with_outer = builder.Node("Concat", {outer, x}, With("axis", int64_t{0}));
      builder.EndBody({joined ? with_outer : builder.Node("Reshape", {outer, flat})});
      attributes.Set("else_branch", else_branch);
      const ValueId chosen = builder.Node("If", {condition}, std::move(attributes));
      builder.Output(builder.Node("Sin", {builder.Node("Neg", {chosen})}));
      builder.Output(builder.Node("Neg", {builder.Node("Abs", {outer})}));
      SessionOptions options;
      options.load.optimise = optimise;
      const auto session = MakeSession(options);
      const GraphId id = MustAdd(*session, builder.Build());
      const HostTensor given = Floats({2, 2}, {1, 2, 3, 4});
      for (const bool then : {true, false}) {
        const auto outputs = MustRun(*session, id, {Bool(then), given});
        ASSERT_EQ(outputs.size(), 2U);
        const float factor = then ? 2 : 1;
        EXPECT_FLOAT_EQ(ElementsOf(outputs[0])[1], std::sin(2 * factor)) << then;
        EXPECT_EQ(ElementsOf(outputs[1]), (std::vector<float>{-1, -2, -3, -4})) << then;
      }
      EXPECT_FALSE(session->LastRun(id)->ports.outputs.empty()) << "it ran inside a plan";
    }
  }
}

// Branches that give different shapes: no plan can be made ahead.
TEST(ControlFlowTest, AnIfWhoseBranchesDifferInShapeIsRunNodeByNode) {
  GraphBuilder builder;
  const ValueId condition = builder.Input("condition", Scalar(DataType::kBool));
  const ValueId x = builder.Input("x", FloatTensor({4}));
  Attributes attributes;
  const SubgraphId then_branch = builder.BeginBody("then");
  builder.EndBody({builder.Node("Concat", {x, x}, With("axis", int64_t{0}))});
  attributes.Set("then_branch", then_branch);
  const SubgraphId else_branch = builder.BeginBody("else");
  builder.EndBody({builder.Node("Neg", {x})});
  attributes.Set("else_branch", else_branch);
  builder.Output(builder.Node("If", {condition}, std::move(attributes)));
  const auto session = MakeSession();
  const GraphId id = MustAdd(*session, builder.Build());
  const HostTensor x_given = Floats({4}, {1, 2, 3, 4});
  EXPECT_EQ(ElementsOf(MustRun(*session, id, {Bool(true), x_given})[0]),
            (std::vector<float>{1, 2, 3, 4, 1, 2, 3, 4}));
  EXPECT_EQ(ElementsOf(MustRun(*session, id, {Bool(false), x_given})[0]),
            (std::vector<float>{-1, -2, -3, -4}));
  const HostTensor y = *kernels::AllocateOnHeap(DataType::kFloat32, {4});
  const HostTensor condition_given = Bool(false);
  EXPECT_EQ(CodeOf(session->Run(id, std::vector<TensorView>{View(condition_given), View(x_given)},
                                std::vector<TensorView>{View(y)})),
            "run.dynamic");
}

// Doubles `sum` until it exceeds `bound` or the trips are over, and collects every sum.
Graph Doubling() {
  GraphBuilder builder;
  const ValueId trips = builder.Input("trips", Scalar(DataType::kInt64));
  const ValueId bound = builder.Input("bound", FloatTensor({}));
  const ValueId start = builder.Input("start", FloatTensor({}));
  const ValueId go = builder.Node("Less", {start, bound});
  const SubgraphId body = builder.BeginBody("body");
  builder.BodyInput("trip", Scalar(DataType::kInt64));
  builder.BodyInput("goes_on", Scalar(DataType::kBool));
  const ValueId sum = builder.BodyInput("sum", FloatTensor({}));
  const ValueId doubled = builder.Node("Add", {sum, sum});
  const ValueId again = builder.Node("Less", {doubled, bound});
  builder.EndBody({again, doubled, builder.Node("Neg", {doubled})});
  for (const ValueId output : builder.Nodes("Loop", {trips, go, start}, 2, With("body", body))) {
    builder.Output(output);
  }
  return builder.Build();
}

TEST(ControlFlowTest, ALoopEndsByItsConditionOrItsCount) {
  const auto session = MakeSession();
  const GraphId id = MustAdd(*session, Doubling());
  const auto run = [&](int64_t trips, float bound) {
    return MustRun(*session, id, {Integer(trips), Floats({}, {bound}), Floats({}, {1})});
  };
  auto outputs = run(10, 5);
  EXPECT_EQ(ElementsOf(outputs[0]), (std::vector<float>{8}));
  EXPECT_EQ(ElementsOf(outputs[1]), (std::vector<float>{-2, -4, -8}));
  outputs = run(2, 1000);
  EXPECT_EQ(ElementsOf(outputs[0]), (std::vector<float>{4}));
  EXPECT_EQ(ElementsOf(outputs[1]), (std::vector<float>{-2, -4}));
  outputs = run(10, 0);
  EXPECT_EQ(ElementsOf(outputs[0]), (std::vector<float>{1})) << "never entered";
  EXPECT_EQ(outputs[1].dims, (kernels::Dims{0}));
  outputs = run(-3, 100);
  EXPECT_EQ(ElementsOf(outputs[0]), (std::vector<float>{1}));
}

TEST(ControlFlowTest, ACancelledLoopStopsAndTheGraphRunsAgain) {
  const auto session = MakeSession();
  const GraphId id = MustAdd(*session, Doubling());
  const std::vector<HostTensor> inputs = {Integer(3), Floats({}, {100}), Floats({}, {1})};
  const std::atomic<bool> cancelled = true;
  EXPECT_EQ(CodeOf(session->RunValues(id, Values(inputs), {.cancelled = &cancelled}).status()),
            "run.cancelled");
  EXPECT_EQ(ElementsOf(MustRun(*session, id, inputs)[0]), (std::vector<float>{8}));
}

// Running sums over the rows of `a`, each times the row of `b` at the same step.
Graph RunningSums(Attributes attributes) {
  GraphBuilder builder;
  const ValueId start = builder.Input("start", FloatTensor({2}));
  const ValueId a = builder.Input("a", FloatTensor({Dim::Symbol("steps"), 2}));
  const ValueId b = builder.Input("b", FloatTensor({Dim::Symbol("others"), 2}));
  const SubgraphId body = builder.BeginBody("body");
  const ValueId sum = builder.BodyInput("sum", FloatTensor({2}));
  const ValueId row_a = builder.BodyInput("row_a", FloatTensor({2}));
  const ValueId row_b = builder.BodyInput("row_b", FloatTensor({2}));
  const ValueId next = builder.Node("Add", {sum, builder.Node("Mul", {row_a, row_b})});
  builder.EndBody({next, builder.Node("Identity", {next})});
  attributes.Set("body", body);
  attributes.Set("num_scan_inputs", int64_t{2});
  for (const ValueId output : builder.Nodes("Scan", {start, a, b}, 2, std::move(attributes))) {
    builder.Output(output);
  }
  return builder.Build();
}

TEST(ControlFlowTest, AScanWalksForwardsAndBackwards) {
  const auto session = MakeSession();
  const std::vector<HostTensor> inputs = {Floats({2}, {10, 20}), Floats({3, 2}, {1, 2, 3, 4, 5, 6}),
                                          Floats({3, 2}, {1, 1, 10, 10, 100, 100})};
  const GraphId forwards = MustAdd(*session, RunningSums({}));
  auto outputs = MustRun(*session, forwards, inputs);
  EXPECT_EQ(ElementsOf(outputs[0]), (std::vector<float>{541, 662}));
  EXPECT_EQ(ElementsOf(outputs[1]), (std::vector<float>{11, 22, 41, 62, 541, 662}));
  Attributes turned = With("scan_input_directions", Ints{1, 1});
  turned.Set("scan_output_directions", Ints{1});
  const GraphId backwards = MustAdd(*session, RunningSums(std::move(turned)));
  outputs = MustRun(*session, backwards, inputs);
  EXPECT_EQ(ElementsOf(outputs[1]), (std::vector<float>{541, 662, 540, 660, 510, 620}));
}

TEST(ControlFlowTest, AScanOverSequencesOfDifferentLengthsIsRefused) {
  const auto session = MakeSession();
  const GraphId id = MustAdd(*session, RunningSums({}));
  const HostTensor start = Floats({2}, {0, 0});
  const HostTensor three = Random({3, 2}, 1);
  const HostTensor two = Random({2, 2}, 1);
  EXPECT_EQ(CodeOf(session->RunValues(id, Values({start, three, two})).status()), "graph.shape");
  EXPECT_EQ(MustRun(*session, id, {start, two, two}).size(), 2U);
}

// The same where only data tells the lengths, so that no rule for shapes can see it coming.
TEST(ControlFlowTest, AScanOverLengthsThatDataTellsIsRefusedWhenTheyDiffer) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({4}));
  const ValueId y = builder.Input("y", FloatTensor({4}));
  const ValueId a = builder.Node("NonZero", {x});
  const ValueId b = builder.Node("NonZero", {y});
  const SubgraphId body = builder.BeginBody("body");
  const ValueType index = ValueType::Tensor(DataType::kInt64, Shape{1});
  const ValueId from_a = builder.BodyInput("from_a", index);
  const ValueId from_b = builder.BodyInput("from_b", index);
  builder.EndBody({builder.Node("Sub", {from_a, from_b})});
  Attributes attributes = With("body", body);
  attributes.Set("num_scan_inputs", int64_t{2});
  attributes.Set("scan_input_axes", Ints{1, 1});
  builder.Output(builder.Node("Scan", {a, b}, std::move(attributes)));
  const auto session = MakeSession();
  const GraphId id = MustAdd(*session, builder.Build());
  const HostTensor three = Floats({4}, {1, 0, 1, 1});
  const HostTensor one = Floats({4}, {0, 0, 1, 0});
  EXPECT_EQ(CodeOf(session->RunValues(id, Values({three, one})).status()), "kernel.input");
  EXPECT_EQ(CodeOf(session->RunValues(id, Values({one, three})).status()), "kernel.input");
  EXPECT_EQ(ElementsOf(MustRun(*session, id, {three, three})[0]), (std::vector<float>{0, 0, 0}));
}

TEST(ControlFlowTest, ASequenceMapRunsItsBodyForEachElement) {
  GraphBuilder builder;
  const ValueId list = builder.Input("list", ValueType::Sequence(FloatTensor({Dim::Symbol("n")})));
  const ValueId shift = builder.Input("shift", FloatTensor({}));
  const SubgraphId body = builder.BeginBody("body");
  const ValueId element = builder.BodyInput("element", FloatTensor({Dim::Symbol("n")}));
  const ValueId by = builder.BodyInput("by", FloatTensor({}));
  builder.EndBody({builder.Node("Add", {element, by})});
  builder.Output(builder.Node("SequenceMap", {list, shift}, With("body", body)));
  const auto session = MakeSession();
  const GraphId id = MustAdd(*session, builder.Build());
  const HostValue given =
      HostValue::Sequence(Values({Floats({2}, {1, 2}), Floats({3}, {3, 4, 5})}));
  for (int run = 0; run < 2; ++run) {
    const auto outputs = MustRunValues(*session, id, {given, HostValue::Of(Floats({}, {10}))});
    ASSERT_EQ(outputs.size(), 1U);
    ASSERT_EQ(outputs[0].elements.size(), 2U);
    EXPECT_EQ(ElementsOf(outputs[0].elements[0].tensor), (std::vector<float>{11, 12}));
    EXPECT_EQ(ElementsOf(outputs[0].elements[1].tensor), (std::vector<float>{13, 14, 15}));
  }
  const auto empty =
      MustRunValues(*session, id, {HostValue::Sequence({}), HostValue::Of(Floats({}, {10}))});
  EXPECT_TRUE(empty[0].elements.empty());
}

// The body reads a constant and a value of the graph around it, and holds an If of its own.
TEST(ControlFlowTest, BodiesInBodiesSeeTheValuesAroundThem) {
  GraphBuilder builder;
  const ValueId trips = builder.Input("trips", Scalar(DataType::kInt64));
  const ValueId x = builder.Input("x", FloatTensor({2}));
  const ValueId start = builder.Float32s("start", {2}, {0, 0});
  const SubgraphId body = builder.BeginBody("body");
  const ValueId trip = builder.BodyInput("trip", Scalar(DataType::kInt64));
  const ValueId goes_on = builder.BodyInput("goes_on", Scalar(DataType::kBool));
  const ValueId sum = builder.BodyInput("sum", FloatTensor({2}));
  const ValueId first = builder.Node("Equal", {trip, builder.Int64("zero", 0)});
  Attributes branches;
  const SubgraphId then_branch = builder.BeginBody("then");
  builder.EndBody({builder.Node("Neg", {x})});
  branches.Set("then_branch", then_branch);
  const SubgraphId else_branch = builder.BeginBody("else");
  builder.EndBody({builder.Node("Add", {sum, x})});
  branches.Set("else_branch", else_branch);
  const ValueId next = builder.Node("If", {first}, std::move(branches));
  builder.EndBody({builder.Node("Identity", {goes_on}), next});
  builder.Output(builder.Node("Loop", {trips, ValueId(), start}, With("body", body)));
  const auto session = MakeSession();
  const GraphId id = MustAdd(*session, builder.Build());
  const HostTensor given = Floats({2}, {3, 4});
  EXPECT_EQ(ElementsOf(MustRun(*session, id, {Integer(0), given})[0]), (std::vector<float>{0, 0}));
  EXPECT_EQ(ElementsOf(MustRun(*session, id, {Integer(1), given})[0]),
            (std::vector<float>{-3, -4}));
  EXPECT_EQ(ElementsOf(MustRun(*session, id, {Integer(4), given})[0]), (std::vector<float>{6, 8}));
}

// x goes round; what each round collects is of a type and a shape of its own.
Graph CollectingLoop() {
  GraphBuilder builder;
  const ValueId trips = builder.Input("trips", Scalar(DataType::kInt64));
  const ValueId start = builder.Input("start", FloatTensor({2}));
  const SubgraphId body = builder.BeginBody("body");
  builder.BodyInput("trip", Scalar(DataType::kInt64));
  const ValueId goes_on = builder.BodyInput("goes_on", Scalar(DataType::kBool));
  const ValueId x = builder.BodyInput("x", FloatTensor({2}));
  const ValueId next = builder.Node("Add", {x, x});
  const ValueId whole = builder.Node("Cast", {next}, With("to", int64_t{7}));
  const ValueId row = builder.Node("Unsqueeze", {next, builder.Int64s("first", {0})});
  builder.EndBody({builder.Node("Identity", {goes_on}), next, whole, row});
  for (const ValueId output :
       builder.Nodes("Loop", {trips, ValueId(), start}, 3, With("body", body))) {
    builder.Output(output);
  }
  return builder.Build();
}

TEST(ControlFlowTest, WhatALoopCollectsHasItsTypeAndShapeAlsoAfterNoRound) {
  const auto session = MakeSession();
  const GraphId id = MustAdd(*session, CollectingLoop());
  for (const int64_t trips : {0, 1, 3}) {
    const auto outputs = MustRun(*session, id, {Integer(trips), Floats({2}, {1, 3})});
    ASSERT_EQ(outputs.size(), 3U);
    const float factor = static_cast<float>(1 << trips);
    EXPECT_EQ(ElementsOf(outputs[0]), (std::vector<float>{factor, 3 * factor}));
    EXPECT_EQ(outputs[1].type, DataType::kInt64);
    EXPECT_EQ(outputs[1].dims, (kernels::Dims{trips, 2}));
    EXPECT_EQ(outputs[2].type, DataType::kFloat32);
    EXPECT_EQ(outputs[2].dims, (kernels::Dims{trips, 1, 2}));
    for (int64_t i = 0; i < trips; ++i) {
      EXPECT_EQ(static_cast<const int64_t*>(outputs[1].data.get())[2 * i + 1], 6 << i);
      EXPECT_EQ(ElementsOf(outputs[2])[static_cast<size_t>(2 * i)], static_cast<float>(2 << i));
    }
  }
}

// A sequence is handed to its last reader as it is, and stays what it was for others.
TEST(ControlFlowTest, ASequenceThatGrowsInALoopLeavesTheOneItBeganAs) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({2}));
  const ValueId trips = builder.Input("trips", Scalar(DataType::kInt64));
  const ValueId first = builder.Node("SequenceConstruct", {x});
  const SubgraphId body = builder.BeginBody("body");
  const ValueId number = builder.BodyInput("i", {});
  const ValueId running = builder.BodyInput("go", {});
  const ValueId list = builder.BodyInput("list", {});
  const ValueId before = builder.Node("SequenceAt", {list, number});
  const ValueId longer = builder.Node("SequenceInsert", {list, builder.Node("Add", {before, x})});
  const ValueId at_end = builder.Node("SequenceInsert", {longer, x});
  const ValueId shorter = builder.Node("SequenceErase", {at_end});
  builder.EndBody({running, shorter, builder.Node("SequenceLength", {longer})});
  const auto made = builder.Nodes("Loop", {trips, ValueId(), first}, 2, With("body", body));
  builder.Output(made[0]);
  builder.Output(made[1]);
  builder.Output(builder.Node("SequenceLength", {first}));
  const auto session = MakeSession();
  const GraphId id = MustAdd(*session, builder.Build());
  for (int run = 0; run < 3; ++run) {
    const auto outputs = MustRunValues(
        *session, id, {HostValue::Of(Floats({2}, {1, 2})), HostValue::Of(Integer(3))});
    ASSERT_EQ(outputs[0].elements.size(), 4U);
    EXPECT_EQ(ElementsOf(outputs[0].elements[3].tensor), (std::vector<float>{4, 8}));
    EXPECT_EQ(kernels::LoadInteger(DataType::kInt64, outputs[1].tensor.data.get(), 2), 4);
    EXPECT_EQ(kernels::LoadInteger(DataType::kInt64, outputs[2].tensor.data.get(), 0), 1);
  }
}

// A constant that an operator was lent when it failed.
TEST(ControlFlowTest, ARunThatFailsOverASequenceLeavesConstantsForTheNext) {
  GraphBuilder builder;
  const ValueId list = builder.Input("list", ValueType::Sequence(FloatTensor({2})));
  const ValueId second = builder.Int64("second", 1);
  builder.Output(builder.Node("Neg", {builder.Node("SequenceAt", {list, second})}));
  const auto session = MakeSession();
  const GraphId id = MustAdd(*session, builder.Build());
  const auto given = [](std::vector<HostTensor> tensors) {
    return std::vector<HostValue>{HostValue::Sequence(Values(std::move(tensors)))};
  };
  const HostTensor one = Floats({2}, {1, 2});
  const HostTensor two = Floats({2}, {3, 4});
  EXPECT_FALSE(session->RunValues(id, given({one})).ok());
  const auto made = MustRunValues(*session, id, given({one, two}));
  EXPECT_EQ(ElementsOf(made[0].tensor), (std::vector<float>{-3, -4}));
}

}  // namespace control_flow_test
}  // namespace plimsoll::engine
