#include <gtest/gtest.h>

#include "base/mapped_pages.h"
#include "engine/models_for_tests.h"
#include "engine/weights/weight_files_for_tests.h"

// Sessions that plan and do not run: what they say they take is what a run takes.
namespace plimsoll::engine {
namespace only_plan_test {

using compile::WeightForms;
using config::StaticMemoryPolicy;
using graph::Graph;
using graph::GraphBuilder;
using graph::ValueId;
using kernels::HostTensor;

constexpr StaticMemoryPolicy kPolicies[] = {
    StaticMemoryPolicy::kByGraph, StaticMemoryPolicy::kSharedStatic,
    StaticMemoryPolicy::kExpandableDynamic, StaticMemoryPolicy::kSharedAndExpandable};

struct ModelCase {
  std::string name;
  Graph graph;
  HostTensor input;
};

std::vector<ModelCase> Cases() {
  std::vector<ModelCase> cases;
  cases.push_back({"convolutions", ConvolutionalNetwork(), Random({1, 3, 20, 20}, 1)});
  cases.push_back({"fixed attention", TransformerLayer(2, 9), Random({2, 9, kModelWidth}, 2)});
  cases.push_back({"open attention",
                   TransformerLayer(graph::Dim::Symbol("batch"), graph::Dim::Symbol("rows")),
                   Random({3, 17, kModelWidth}, 3)});
  return cases;
}

SessionOptions With(StaticMemoryPolicy policy, bool only_plan) {
  SessionOptions options;
  options.config.memory_config.static_memory_policy = policy;
  options.load.only_plan = only_plan;
  return options;
}

// The same model as it is read where the file of its weights is not there.
Graph WithoutWeights(Graph graph) {
  Bytes offset;
  for (graph::ConstantTensor& constant : graph.constants) {
    if (constant.type != graph::DataType::kFloat32 || constant.ElementCount() < 2) continue;
    constant.bytes = {};
    constant.storage.reset();
    constant.missing = true;
    constant.external_file = "weights";
    constant.external_offset = offset;
    offset += constant.Size();
  }
  return graph;
}

void ExpectSame(const DeviceBytes& told, const DeviceBytes& taken, const std::string& where) {
  EXPECT_EQ(told.weights, taken.weights) << where;
  EXPECT_EQ(told.feature_maps, taken.feature_maps) << where;
  EXPECT_EQ(told.variables, taken.variables) << where;
  EXPECT_EQ(told.granularity, taken.granularity) << where;
}

TEST(OnlyPlanTest, WhatIsPlannedIsWhatARunTakes) {
  for (const auto policy : kPolicies) {
    const auto planned = MakeSession(With(policy, true));
    const auto blind = MakeSession(With(policy, true));
    const auto session = MakeSession(With(policy, false));
    for (const ModelCase& one : Cases()) {
      const std::string where = one.name + ", policy " + std::to_string(static_cast<int>(policy));
      MustRun(*session, MustAdd(*session, one.graph), {one.input});
      const GraphId id = MustAdd(*planned, one.graph);
      ASSERT_TRUE(planned->Reserve(id, Views({one.input})).ok()) << where;
      ExpectSame(planned->Memory().device, session->Memory().device, where);
      const GraphId without = MustAdd(*blind, WithoutWeights(one.graph));
      ASSERT_TRUE(blind->Reserve(without, Views({one.input})).ok()) << where;
      ExpectSame(blind->Memory().device, session->Memory().device, where + ", without weights");
      EXPECT_EQ(planned->Memory(id)->packed.more(), blind->Memory(without)->packed.more()) << where;
    }
  }
}

TEST(OnlyPlanTest, NothingRuns) {
  const auto planned = MakeSession(With(StaticMemoryPolicy::kByGraph, true));
  const GraphId id = MustAdd(*planned, AddOne({4}));
  EXPECT_EQ(CodeOf(planned->RunValues(id, Values({Random({4}, 1)})).status()), "run.only_plan");
}

// A table that one node looks rows up in and another multiplies with, as language models do.
Graph TiedTable(int64_t rows) {
  GraphBuilder builder;
  const ValueId x = builder.Input(
      "x", graph::ValueType::Tensor(graph::DataType::kInt64, graph::Shape{graph::Dim(rows)}));
  const ValueId table = RandomWeights(builder, "table", {4999, 64}, 4);
  const ValueId found = builder.Node("Gather", {table, x});
  const ValueId hidden = builder.Node("Tanh", {found});
  const ValueId turned = builder.Node("Transpose", {table}, compile::With("perm", Ints{1, 0}));
  builder.Output(builder.Node("MatMul", {hidden, turned}));
  return builder.Build();
}

TEST(OnlyPlanTest, TheSmallerFormOfAWeightIsKeptWhereAsked) {
  constexpr int64_t kTable = 4999 * 64 * 4;
  constexpr int64_t kPanels = 5008 * 64 * 4;
  const HostTensor input = Random({20}, 5, graph::DataType::kInt64);
  std::vector<HostTensor> made;
  for (const auto forms : {WeightForms::kPacked, WeightForms::kSmaller, WeightForms::kPlain}) {
    DeviceBytes taken[2];
    for (const bool only_plan : {false, true}) {
      SessionOptions options = With(StaticMemoryPolicy::kByGraph, only_plan);
      options.load.weight_forms = forms;
      const auto session = MakeSession(options);
      const GraphId id = MustAdd(*session, TiedTable(20));
      if (only_plan) {
        ASSERT_TRUE(session->Reserve(id, Views({input})).ok());
      } else {
        made.push_back(MustRun(*session, id, {input})[0]);
      }
      taken[only_plan ? 1 : 0] = session->Memory().device;
      const PackedStore::Packed packed = session->Memory(id)->packed;
      const bool packs = forms == WeightForms::kPacked;
      EXPECT_EQ(packed.weights, packs ? 1U : 0U);
      EXPECT_EQ(packed.more(), Bytes(packs ? kPanels : 0)) << "the table stays for the look-up";
      EXPECT_EQ(session->Memory().weights, Bytes(packs ? kTable + kPanels : kTable));
    }
    ExpectSame(taken[1], taken[0], "form " + std::to_string(static_cast<int>(forms)));
  }
  ExpectClose(made[1], made[0]);
  ExpectClose(made[2], made[0]);
}

TEST(OnlyPlanTest, MemoryPriorityAsksForTheSmallerForm) {
  SessionOptions options = With(StaticMemoryPolicy::kByGraph, false);
  options.config.memory_config.memory_optimization_policy =
      config::MemoryOptimizationPolicy::kMemoryPriority;
  const auto session = MakeSession(options);
  const GraphId id = MustAdd(*session, TiedTable(20));
  MustRun(*session, id, {Random({20}, 5, graph::DataType::kInt64)});
  EXPECT_EQ(session->Memory(id)->packed.weights, 0U);
}

// Weights as files are held once for all graphs that have equal ones; a plan counts them so.
TEST(OnlyPlanTest, EqualWeightsOfSeveralGraphsCountOnceWhereTheyAreFiles) {
  const onnx::TemporaryFolder work;
  for (const bool external : {false, true}) {
    SessionOptions options = With(StaticMemoryPolicy::kByGraph, false);
    options.config.external_weight = external;
    options.config.work_path = work.path().string();
    options.load.optimise = false;
    const auto session = MakeSession(options);
    options.load.only_plan = true;
    const auto planned = MakeSession(options);
    const HostTensor x = Random({4, 32}, 1);
    for (const uint32_t seed : {1, 1, 2}) {
      MustRun(*session, MustAdd(*session, Product(seed)), {x});
      ASSERT_TRUE(planned->Reserve(MustAdd(*planned, Product(seed)), Views({x})).ok());
    }
    constexpr int64_t kWeights = (32 * 32 + 32) * 4;
    EXPECT_EQ(session->Memory().weights, Bytes((external ? 2 : 3) * kWeights));
    ExpectSame(planned->Memory().device, session->Memory().device, external ? "files" : "plain");
  }
}

TEST(OnlyPlanTest, WeightsThatAreMissingTakeNoMemory) {
  constexpr int64_t kWide = 1 << 14;
  GraphBuilder builder;
  const ValueId x = builder.Input("x", compile::FloatTensor({4, kWide}));
  const ValueId w = builder.Float32s("w", {1, 1}, {0});
  builder.Output(builder.Node("MatMul", {x, w}));
  Graph graph = builder.Build();
  graph::ConstantTensor& weights = graph.constants[0];
  weights.dims = {kWide, kWide};
  weights.bytes = {};
  weights.storage.reset();
  weights.missing = true;
  weights.external_file = "weights";
  graph[w].type = graph[w].declared = compile::FloatTensor({kWide, kWide});
  const Bytes before = PeakResidentBytes();
  const auto session = MakeSession(With(StaticMemoryPolicy::kByGraph, true));
  const GraphId id = MustAdd(*session, std::move(graph));
  const TensorView input{.type = graph::DataType::kFloat32, .dims = {4, kWide}};
  ASSERT_TRUE(session->Reserve(id, std::vector<TensorView>{input}).ok());
  EXPECT_EQ(session->Memory().device.weights, GiB(1));
  EXPECT_LT(PeakResidentBytes() - before, MiB(64));
}

}  // namespace only_plan_test
}  // namespace plimsoll::engine
