#include <gtest/gtest.h>

#include "graph/builder.h"
#include "graph/operators/operator_case.h"

namespace plimsoll::graph::operators {
namespace control_flow_test {

// An `If` whose branches give `x` of one shape or another.
std::string InferredIf(std::optional<bool> condition, const std::string& then_type,
                       const std::string& else_type) {
  GraphBuilder builder(20);
  const ValueId input = builder.Input("condition", ParseType("bool[]"));
  if (condition) builder.graph()[input].content = Content{std::vector<Dim>{*condition ? 1 : 0}};
  const ValueId a = builder.Input("a", ParseType(then_type));
  const ValueId b = builder.Input("b", ParseType(else_type));
  Attributes attributes;
  attributes.Set("then_branch", builder.BeginBody("then"));
  builder.EndBody({builder.Node("Identity", {a})});
  attributes.Set("else_branch", builder.BeginBody("else"));
  builder.EndBody({builder.Node("Identity", {b})});
  const ValueId out = builder.Node("If", {input}, attributes);
  Graph graph = builder.Build();
  const Status status = InferAll(graph);
  return status.ok() ? TextOf(graph[out]) : status.error().why;
}

TEST(ControlFlowTest, BranchesAreJoinedUnlessTheConditionIsKnown) {
  EXPECT_EQ(InferredIf({}, "float32[2,n]", "float32[3,n]"), "float32[?,n]");
  EXPECT_EQ(InferredIf({}, "float32[2]", "float32[2,2]"), "float32[...]");
  EXPECT_EQ(InferredIf(true, "float32[2]", "int64[2,2]"), "float32[2]");
  EXPECT_EQ(InferredIf(false, "float32[2]", "int64[2,2]"), "int64[2,2]");
  EXPECT_NE(InferredIf({}, "float32[2]", "int64[2]").find("in one branch"), std::string::npos);
}

struct Loop {
  Graph graph;
  std::vector<ValueId> outputs;
};

// A loop that carries `x`, doubled along axis 0 in each run where `grows`, and scans it.
Loop MakeLoop(bool grows, bool counted) {
  GraphBuilder builder(20);
  const ValueId trips = counted ? builder.Int64("trips", 5) : ValueId();
  const ValueId start = builder.Input("start", ParseType("float32[1,n]"));
  const SubgraphId body = builder.BeginBody("body");
  builder.BodyInput("i", {});
  const ValueId goes_on = builder.BodyInput("go", {});
  const ValueId x = builder.BodyInput("x", {});
  Attributes axis;
  axis.Set("axis", int64_t{0});
  const ValueId next = grows ? builder.Node("Concat", {x, x}, axis) : builder.Node("Identity", {x});
  builder.EndBody({builder.Node("Identity", {goes_on}), next, next});
  Attributes attributes;
  attributes.Set("body", body);
  Loop loop;
  loop.outputs = builder.Nodes("Loop", {trips, ValueId(), start}, 2, attributes);
  loop.graph = builder.Build();
  return loop;
}

TEST(ControlFlowTest, WhatChangesFromRunToRunBecomesUnknown) {
  Loop steady = MakeLoop(false, true);
  ASSERT_TRUE(InferAll(steady.graph).ok());
  EXPECT_EQ(TextOf(steady.graph[steady.outputs[0]]), "float32[1,n]");
  EXPECT_EQ(TextOf(steady.graph[steady.outputs[1]]), "float32[5,1,n]");

  Loop growing = MakeLoop(true, true);
  ASSERT_TRUE(InferAll(growing.graph).ok());
  EXPECT_EQ(TextOf(growing.graph[growing.outputs[0]]), "float32[?,n]");
  EXPECT_EQ(TextOf(growing.graph[growing.outputs[1]]), "float32[5,?,n]");
}

TEST(ControlFlowTest, ALoopWithoutTripCountScansAnUnknownNumber) {
  Loop loop = MakeLoop(false, false);
  ASSERT_TRUE(InferAll(loop.graph).ok());
  EXPECT_EQ(TextOf(loop.graph[loop.outputs[1]]), "float32[?,1,n]");
}

// A scan that adds each slice of `walked` to a state and gives the sums.
std::string InferredScan(int version, const std::string& state, const std::string& walked,
                         Attributes attributes) {
  GraphBuilder builder(version);
  const ValueId start = builder.Input("start", ParseType(state));
  const ValueId data = builder.Input("data", ParseType(walked));
  const SubgraphId body = builder.BeginBody("body");
  const ValueId sum = builder.BodyInput("sum", {});
  const ValueId slice = builder.BodyInput("slice", {});
  const ValueId next = builder.Node("Add", {sum, slice});
  builder.EndBody({next, builder.Node("Identity", {next})});
  attributes.Set("body", body);
  attributes.Set("num_scan_inputs", int64_t{1});
  std::vector<ValueId> inputs{start, data};
  if (version == 8) inputs.insert(inputs.begin(), ValueId());
  const std::vector<ValueId> outputs = builder.Nodes("Scan", inputs, 2, attributes);
  Graph graph = builder.Build();
  const Status status = InferAll(graph);
  if (!status.ok()) return status.error().why;
  return TextOf(graph[outputs[0]]) + " " + TextOf(graph[outputs[1]]);
}

TEST(ControlFlowTest, ScansAlongAnyAxisAndInVersion8ByBatches) {
  EXPECT_EQ(InferredScan(9, "float32[2]", "float32[t,2]", {}), "float32[2] float32[t,2]");
  Attributes axes;
  axes.Set("scan_input_axes", Ints{1});
  axes.Set("scan_output_axes", Ints{-1});
  EXPECT_EQ(InferredScan(11, "float32[2]", "float32[2,t]", axes), "float32[2] float32[2,t]");
  EXPECT_EQ(InferredScan(8, "float32[b,2]", "float32[b,t,2]", {}), "float32[b,2] float32[b,t,2]");
  axes.Set("scan_input_axes", Ints{7});
  EXPECT_NE(InferredScan(11, "float32[2]", "float32[2,t]", axes).find("axis 7"), std::string::npos);
}

// What a loop collects, of which nothing but its condition tells how often it runs: a counter that
// is compared with a bound. `trips` 0: it has no trip count.
std::string CountedBy(int64_t first, int64_t step, int64_t bound, const std::string& compares,
                      int64_t trips = 0, DataType as = DataType::kInt64) {
  GraphBuilder builder(20);
  const ValueId start = builder.Int64("start", first);
  const ValueId end = builder.Int64("end", bound);
  const bool turned = compares.starts_with("Greater");
  const SubgraphId body = builder.BeginBody("body");
  const ValueId i = builder.BodyInput("i", {});
  builder.BodyInput("go", {});
  const ValueId t = builder.BodyInput("t", {});
  const ValueId next = builder.Node("Add", {t, builder.Int64("step", step)});
  Attributes to;
  to.Set("to", static_cast<int64_t>(as));
  const ValueId counter = as == DataType::kInt64 ? next : builder.Node("Cast", {next}, to);
  const ValueId limit = as == DataType::kInt64 ? end : builder.Node("Cast", {end}, to);
  const ValueId compared =
      turned ? builder.Node(compares, {limit, counter}) : builder.Node(compares, {counter, limit});
  const ValueId endless = builder.Node("Less", {i, builder.Int64("far", int64_t{1} << 62)});
  builder.EndBody({builder.Node("And", {compared, endless}), next, next});
  Attributes attributes;
  attributes.Set("body", body);
  const ValueId most = trips > 0 ? builder.Int64("trips", trips) : ValueId();
  const auto outputs = builder.Nodes("Loop", {most, ValueId(), start}, 2, attributes);
  Graph graph = builder.Build();
  EXPECT_TRUE(InferAll(graph).ok());
  return TextOf(graph[outputs[1]]);
}

TEST(ControlFlowTest, AConditionThatCountsTellsHowOftenALoopRuns) {
  EXPECT_EQ(CountedBy(0, 1, 5, "Less"), "int64[5]");
  EXPECT_EQ(CountedBy(0, 1, 5, "LessOrEqual"), "int64[6]");
  EXPECT_EQ(CountedBy(2, 3, 12, "Greater"), "int64[4]") << "5, 8, 11, 14";
  EXPECT_EQ(CountedBy(2, 3, 11, "GreaterOrEqual"), "int64[4]");
  EXPECT_EQ(CountedBy(2, 3, 11, "Greater"), "int64[3]");
  EXPECT_EQ(CountedBy(9, 1, 5, "Less"), "int64[1]") << "the condition comes after the body";
  EXPECT_EQ(CountedBy(0, 1, 5, "Less", 3), "int64[3]");
  EXPECT_EQ(CountedBy(0, 1, 5, "Less", 9), "int64[5]");
  EXPECT_EQ(CountedBy(0, -1, 5, "Less"), "int64[?]");
  EXPECT_EQ(CountedBy(0, 0, 5, "Less"), "int64[?]");
  EXPECT_EQ(CountedBy(0, 1, int64_t{1} << 62, "Less"), "int64[?]");
}

TEST(ControlFlowTest, ACounterMayBeConvertedWhereItsTypeHoldsIt) {
  EXPECT_EQ(CountedBy(0, 1, 5, "Less", 0, DataType::kFloat32), "int64[5]");
  EXPECT_EQ(CountedBy(2, 3, 11, "Greater", 0, DataType::kInt32), "int64[3]");
  EXPECT_EQ(CountedBy(0, 1, 1 << 23, "Less", 0, DataType::kFloat32), "int64[8388608]");
  EXPECT_EQ(CountedBy(0, 1, 1 << 24, "Less", 0, DataType::kFloat32), "int64[?]")
      << "one more is not a float";
  EXPECT_EQ(CountedBy(0, 1, 5, "Less", 0, DataType::kFloat16), "int64[?]");
}

TEST(ControlFlowTest, RefusesLoopsWithoutBodies) {
  CheckAll({
      {"Loop", 13, {"", ""}, {}, {"fails: lacks the body"}},
      {"Loop", 13, {""}, {}, {"fails: trip count"}},
      {"Scan", 9, {"float32[2]"}, {}, {"fails: num_scan_inputs is 0"}},
      {"If", 13, {"bool[]"}, {}, {"fails: lacks the body"}},
  });
}

}  // namespace control_flow_test
}  // namespace plimsoll::graph::operators
