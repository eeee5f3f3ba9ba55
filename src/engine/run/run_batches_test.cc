#include "engine/run/run_batches.h"

#include <gtest/gtest.h>

#include "engine/random/batch_runs_for_tests.h"

// Batch labels (R42): a run executes one batch, and gives what that batch gives in a graph without
// labels.
namespace plimsoll::engine {
namespace run_batches_test {

using compile::FloatTensor;
using compile::With;
using graph::Dim;
using graph::Graph;
using graph::GraphBuilder;
using graph::ValueId;
using kernels::HostTensor;
using kernels::HostValue;
using Names = std::vector<std::string>;

constexpr int64_t kSide = 48;

// stem = exp(x), then for each label a chain of products and an output of its own. Only the first
// node of a chain is labelled. The last output is the stem's sum.
Graph Branches(const Names& labels, const Dim& rows = kSide) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({rows, kSide}));
  const ValueId stem = builder.Node("Tanh", {x});
  uint32_t seed = 1;
  for (const std::string& label : labels) {
    const auto product = [&](ValueId value) {
      const std::string name = "w" + std::to_string(seed);
      return builder.Node("MatMul", {value, RandomWeights(builder, name, {kSide, kSide}, seed++)});
    };
    ValueId y = product(stem);
    Label(builder.graph(), y, label);
    const ValueId first = y;
    for (int i = 0; i < 3; ++i) y = builder.Node("Sigmoid", {product(y)});
    builder.Output(builder.Node("Add", {y, first}));
  }
  builder.Output(builder.Node("Neg", {stem}));
  return builder.Build();
}

TEST(RunBatchesTest, R42_EachBatchGivesWhatItGivesWithoutLabels) {
  ExpectEachBatch(Branches({"b0", "b1", "b2"}), {Random({kSide, kSide}, 4)}, WithoutPasses());
}

// In the file's order what all branches begin with lives together.
TEST(RunBatchesTest, R42_TwoBatchesShareTheirMemory) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({kSide, kSide}));
  std::vector<ValueId> first;
  for (int i = 0; i < 3; ++i) {
    first.push_back(builder.Node("Transpose", {x}));
    Label(builder.graph(), first.back(), "b" + std::to_string(i));
  }
  for (const ValueId y : first) builder.Output(builder.Node("Transpose", {y}));
  SessionOptions options = WithoutPasses();
  options.load.plan.search_order = false;
  const auto peak = [&](Graph graph) {
    const auto session = MakeSession(options);
    const GraphId id = MustAdd(*session, std::move(graph));
    return PeakOf(**session->Compile(id, Views({Random({kSide, kSide}, 4)})));
  };
  const Graph labelled = builder.Build();
  Graph plain = labelled;
  RemoveLabels(plain);
  constexpr int64_t kTurned = kSide * kSide * 4;
  EXPECT_EQ(peak(plain) - peak(labelled), Bytes(2 * kTurned)) << "three begin, one of them runs";
  ExpectEachBatch(labelled, {Random({kSide, kSide}, 4)}, options);
}

TEST(RunBatchesTest, R42_ANodeThatReadsTwoBatchesIsRefused) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({8}));
  const ValueId left = builder.Node("Exp", {x});
  const ValueId right = builder.Node("Tanh", {x});
  Label(builder.graph(), left, "b0");
  Label(builder.graph(), right, "b1");
  builder.Output(builder.Node("Add", {left, right}));
  const auto session = MakeSession();
  const auto added = session->Add(builder.Build());
  ASSERT_FALSE(added.ok());
  EXPECT_EQ(added.error().code, "graph.batch");
  for (const char* part : {"Add", "'b0'", "'b1'", "Exp", "Tanh"}) {
    EXPECT_NE(added.error().Text().find(part), std::string::npos) << added.error().Text();
  }
}

TEST(RunBatchesTest, R42_TheCallerNamesTheBatch) {
  const auto session = MakeSession();
  const GraphId id = MustAdd(*session, Branches({"b0", "b1"}));
  EXPECT_EQ(*session->Batches(id), (Names{"b0", "b1"}));
  const std::vector<HostTensor> inputs = {Random({kSide, kSide}, 4)};
  RunOptions options;
  options.batch = "b7";
  const auto unknown = session->RunValues(id, Values(inputs), options);
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().code, "run.batch");
  EXPECT_NE(unknown.error().Text().find("b0, b1"), std::string::npos);
  const auto unnamed = session->RunValues(id, Values(inputs));
  ASSERT_FALSE(unnamed.ok());
  EXPECT_EQ(unnamed.error().code, "run.batch");
  EXPECT_NE(unnamed.error().Text().find("b0, b1"), std::string::npos);
  EXPECT_EQ(*session->BatchFor(id, Views(inputs), "b1"), "b1");
}

TEST(RunBatchesTest, R42_AGraphWithoutLabelsTakesNoBatch) {
  const auto session = MakeSession();
  const GraphId id = MustAdd(*session, AddOne({4}));
  RunOptions options;
  options.batch = "b0";
  EXPECT_EQ(CodeOf(session->RunValues(id, Values({Random({4}, 1)}), options).status()),
            "run.batch");
  EXPECT_TRUE(session->Batches(id)->empty());
}

TEST(RunBatchesTest, R42_TheOnlyBatchNeedsNoName) {
  const auto session = MakeSession();
  const GraphId id = MustAdd(*session, Branches({"b0"}));
  const auto outputs = MustRunValues(*session, id, Values({Random({kSide, kSide}, 4)}));
  ASSERT_EQ(outputs.size(), 2U);
  EXPECT_EQ(outputs[0].kind, HostValue::Kind::kTensor);
}

TEST(RunBatchesTest, R42_SizesNameTheBatchAsGearsDo) {
  for (const bool gears : {false, true}) {
    SessionOptions options = WithoutPasses();
    if (gears) options.config.dynamic_dims = "4;16";
    const auto session = MakeSession(options);
    const GraphId id = MustAdd(*session, Branches({"rows=4", "rows=16"}, Dim::Symbol("rows")));
    for (const int64_t rows : {4, 16, 4}) {
      const auto outputs = MustRunValues(*session, id, Values({Random({rows, kSide}, 4)}));
      ASSERT_EQ(outputs.size(), 3U);
      EXPECT_EQ(outputs[0].kind == HostValue::Kind::kTensor, rows == 4);
      EXPECT_EQ(outputs[1].kind == HostValue::Kind::kTensor, rows == 16);
      EXPECT_EQ(outputs[2].kind, HostValue::Kind::kTensor);
    }
    EXPECT_EQ(CodeOf(session->RunValues(id, Values({Random({5, kSide}, 4)})).status()),
              "run.batch");
  }
}

// Values that every run makes, but only one batch brings to its output: as views, through a
// concatenation, in memory that the caller lends.
TEST(RunBatchesTest, WhatEveryRunMakesIsNotWrittenIntoAnOutputOfOneBatch) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({8, 16}));
  const ValueId stem = builder.Node("Tanh", {x});
  const ValueId flat = builder.Node("Reshape", {stem, builder.Int64s("flat", {128})});
  Label(builder.graph(), flat, "b0");
  builder.Output(builder.Node("Reshape", {flat, builder.Int64s("tall", {16, 8})}));
  const ValueId part = builder.Node("Exp", {x});
  const ValueId viewed =
      builder.Node("Reshape", {builder.Node("Sin", {x}), builder.Int64s("same", {8, 16})});
  Label(builder.graph(), viewed, "b1");
  const ValueId joined = builder.Node("Concat", {part, viewed}, With("axis", int64_t{0}));
  builder.Output(joined);
  const ValueId alone = builder.Node("Concat", {builder.Node("Cos", {x}), builder.Node("Abs", {x})},
                                     With("axis", int64_t{0}));
  Label(builder.graph(), alone, "b1");
  builder.Output(alone);
  const Graph graph = builder.Build();
  ExpectEachBatch(graph, {Random({8, 16}, 4)}, WithoutPasses());
  SessionOptions lent = WithoutPasses();
  lent.config.output_reuse_mem_indexes = {0, 1, 2};
  ExpectEachBatch(graph, {Random({8, 16}, 4)}, lent);
}

// Inputs that are copied in are there for every batch.
TEST(RunBatchesTest, InputsThatOneBatchReadsAreCopiedForAll) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({8, 16}));
  const ValueId z = builder.Input("z", FloatTensor({8, 16}));
  for (const auto& [input, label] : {std::pair(x, "b0"), std::pair(z, "b1")}) {
    const ValueId viewed =
        builder.Node("Reshape", {input, builder.Int64s(std::string("flat ") + label, {128})});
    Label(builder.graph(), viewed, label);
    const ValueId y = builder.Node("Exp", {viewed});
    builder.graph()[builder.graph()[y].producer].memory.no_address_refresh = true;
    builder.Output(builder.Node("Neg", {y}));
  }
  ExpectEachBatch(builder.Build(), {Random({8, 16}, 4), Random({8, 16}, 5)}, WithoutPasses());
}

// An If of a batch, whose bodies read the batch's values and write its outputs.
Graph WithBranches(bool labelled_owner) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({kSide}));
  const ValueId condition =
      builder.Input("c", graph::ValueType::Tensor(graph::DataType::kBool, graph::Shape{}));
  for (const std::string label : {"b0", "b1"}) {
    const ValueId own = builder.Node(label == "b0" ? "Exp" : "Tanh", {x});
    Label(builder.graph(), own, label);
    graph::Attributes attributes;
    for (const char* branch : {"then_branch", "else_branch"}) {
      const graph::SubgraphId body = builder.BeginBody(label + branch);
      const ValueId inner = builder.Node(branch[0] == 't' ? "Sin" : "Cos", {own});
      builder.EndBody({builder.Node("Mul", {inner, inner})});
      attributes.Set(branch, graph::Attribute(body));
    }
    const ValueId chosen = builder.Node("If", {condition}, std::move(attributes));
    if (labelled_owner) Label(builder.graph(), chosen, label);
    builder.Output(builder.Node("Neg", {chosen}));
    builder.Output(chosen);
  }
  return builder.Build();
}

TEST(RunBatchesTest, R42_BodiesBelongToTheBatchThatTheyRead) {
  for (const bool labelled : {false, true}) {
    for (const bool taken : {false, true}) {
      ExpectEachBatch(WithBranches(labelled), {Random({kSide}, 2), Bool(taken)}, WithoutPasses());
    }
  }
}

TEST(RunBatchesTest, R42_NodeByNodeRunsExecuteOneBatchToo) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({Dim::Symbol("n")}));
  const ValueId left = builder.Node("NonZero", {x});
  const ValueId right = builder.Node("Relu", {x});
  Label(builder.graph(), left, "b0");
  Label(builder.graph(), right, "b1");
  builder.Output(builder.Node("Neg", {left}));
  builder.Output(builder.Node("Neg", {right}));
  ExpectEachBatch(builder.Build(), {Floats({5}, {0, 1, 2, 0, -1})});
}

TEST(RunBatchesTest, R42_ABatchMakesNoNewValueOfAVariable) {
  GraphBuilder builder;
  const ValueId w = builder.Input("w", FloatTensor({4}));
  const ValueId next = builder.Node("Exp", {w});
  builder.Output(next);
  Graph graph = builder.Build();
  const std::string output = graph[next].name;
  Label(graph, next, "b0");
  const auto session = MakeSession();
  EXPECT_EQ(CodeOf(session->Add(graph, {{"w", output, ""}}).status()), "graph.batch");
}

// Every batch of a training graph updates the variable, and makes its own output.
TEST(RunBatchesTest, R42_AGraphWithVariablesRunsTheBatchThatIsNamed) {
  GraphBuilder builder;
  const ValueId w = builder.Input("w", FloatTensor({4}));
  const ValueId next = builder.Node("Add", {w, builder.Float32s("one", {}, {1})});
  const ValueId left = builder.Node("Neg", {next});
  const ValueId right = builder.Node("Abs", {next});
  Label(builder.graph(), left, "b0");
  Label(builder.graph(), right, "b1");
  builder.Output(left);
  builder.Output(right);
  builder.Output(next);
  Graph graph = builder.Build();
  const std::string output = graph[next].name;
  const auto session = MakeSession();
  const auto id = session->Add(graph, {{"w", output, ""}});
  ASSERT_TRUE(id.ok()) << id.error().Text();
  ASSERT_TRUE(session->variables().Set("w", View(Floats({4}, {0, 0, 0, 0}))).ok());
  const auto first = MustRunBatch(*session, *id, {}, "b0");
  ASSERT_EQ(first.size(), 2U);
  EXPECT_EQ(ElementsOf(first[0].tensor)[0], -1);
  EXPECT_EQ(first[1].kind, HostValue::Kind::kUnknown);
  const auto second = MustRunBatch(*session, *id, {}, "b1");
  ASSERT_EQ(second.size(), 2U);
  EXPECT_EQ(second[0].kind, HostValue::Kind::kUnknown);
  EXPECT_EQ(ElementsOf(second[1].tensor)[0], 2);
}

}  // namespace run_batches_test
}  // namespace plimsoll::engine
