#include <gtest/gtest.h>

#include <algorithm>

#include "engine/models_for_tests.h"
#include "engine/random/configured_runs_for_tests.h"

// atomic_clean_policy: operators that need zeroed memory.
namespace plimsoll::engine {
namespace clearing_test {

using compile::FloatTensor;
using graph::Graph;
using graph::GraphBuilder;
using graph::ValueId;
using kernels::HostTensor;

constexpr int64_t kSide = 64;
constexpr int64_t kProduct = kSide * kSide * 4;

// Products one after the other, each of which asks for zeroed memory.
Graph ClearedProducts(int count) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({kSide, kSide}));
  const ValueId w = RandomWeights(builder, "w", {kSide, kSide}, 3);
  ValueId y = builder.Node("MatMul", {x, w});
  std::vector<ValueId> cleared;
  for (int i = 0; i < count; ++i) {
    y = builder.Node("MatMul", {y, w});
    cleared.push_back(y);
  }
  builder.Output(builder.Node("MatMul", {y, w}));
  Graph graph = builder.Build();
  for (const ValueId value : cleared) graph[graph[value].producer].memory.needs_clearing = {0};
  return graph;
}

config::RunConfig Policy(int policy) {
  config::RunConfig config;
  config.memory_config.clear_separately = policy == 1;
  return config;
}

std::vector<HostTensor> Square() { return {Random({kSide, kSide}, 8)}; }

std::vector<Task> Clears(const Executable& executable) {
  std::vector<Task> clears;
  for (const Task& task : executable.program().tasks) {
    if (task.kind == Task::Kind::kClear) clears.push_back(task);
  }
  return clears;
}

// Runs with a look, before each kernel that asked for it, at whether its output is all zeros.
int NodesThatFindZeros(const Executable& executable) {
  const HostTensor x = Square()[0];
  const HostTensor y = CopyOf(x);
  const HostTensor arena =
      *kernels::AllocateOnHeap(graph::DataType::kUint8, {executable.program().total().value()});
  std::fill_n(static_cast<unsigned char*>(arena.data.get()), arena.size().value(), 0xAB);
  auto addresses = BindTo(executable, arena);
  const std::vector<const void*> from = {x.data.get()};
  const std::vector<void*> to = {y.data.get()};
  int found = 0;
  const auto look = [&](const Task& task) {
    if (task.kind != Task::Kind::kRun) return;
    if (executable.model().graph[task.node].memory.needs_clearing.empty()) return;
    const auto* made = static_cast<const char*>(addresses.operands[task.first + task.inputs]);
    found += std::all_of(made, made + kProduct, [](char byte) { return byte == 0; }) ? 1 : 0;
  };
  EXPECT_TRUE(executable.Run(addresses, {.inputs = from, .outputs = to}, look).ok());
  return found;
}

TEST(ClearingTest, R5_OneClearOfOneAreaServesEveryOperatorBeforeTheFirstOfThem) {
  const auto together = ExpectSameBytes(ClearedProducts(6), Square(), Under(Policy(0)));
  ASSERT_NE(together, nullptr);
  const auto& areas = together->model().planned.plan.clearing_areas;
  ASSERT_EQ(areas.size(), 1U);
  EXPECT_EQ(areas[0].size, Bytes(6 * kProduct));
  const std::vector<Task> clears = Clears(*together);
  ASSERT_EQ(clears.size(), 1U);
  EXPECT_EQ(clears[0].bytes, 6 * kProduct);
  EXPECT_EQ(together->program().tasks[0].kind, Task::Kind::kClear);
  EXPECT_EQ(NodesThatFindZeros(*together), 6);
}

TEST(ClearingTest, R6_UnderOneEachOperatorClearsItsOwnAndResultsAreTheSame) {
  const auto separate = ExpectSameBytes(ClearedProducts(6), Square(), Under(Policy(1)));
  ASSERT_NE(separate, nullptr);
  EXPECT_TRUE(separate->model().planned.plan.clearing_areas.empty());
  EXPECT_EQ(Clears(*separate).size(), 6U);
  EXPECT_EQ(NodesThatFindZeros(*separate), 6);
  const auto& tasks = separate->program().tasks;
  for (size_t i = 0; i + 1 < tasks.size(); ++i) {
    if (tasks[i].kind != Task::Kind::kClear) continue;
    EXPECT_EQ(tasks[i + 1].kind, Task::Kind::kRun) << "just before it runs";
    EXPECT_EQ(tasks[i + 1].node, tasks[i].node);
  }
}

TEST(ClearingTest, R7_WithManyClearedOperatorsOneTakesLessMemoryAndTheRecordShowsBothCosts) {
  for (const int count : {2, 6, 20}) {
    Bytes peaks[2];
    for (const int policy : {0, 1}) {
      const auto session = MakeSession(Under(Policy(policy)));
      const GraphId id = MustAdd(*session, ClearedProducts(count));
      for (int run = 0; run < 2; ++run) MustRun(*session, id, Square());
      peaks[policy] = session->Memory(id)->planned_peak;
      const ClearCost cost = session->LastRun(id)->clearing;
      EXPECT_EQ(cost.clears, policy == 0 ? 1 : count) << "of one run, not of all";
      EXPECT_EQ(cost.bytes, Bytes(count * kProduct));
      EXPECT_GT(cost.milliseconds(), 0);
    }
    EXPECT_LE(peaks[1], peaks[0]);
    if (count == 20) {
      EXPECT_LE(peaks[1], Bytes(3 * kProduct));
      EXPECT_GE(peaks[0], Bytes(20 * kProduct));
    }
  }
}

constexpr int64_t kImage = 16;

// Pools an image twice and puts the maxima back where they were, then folds its columns: three
// kernels that write only some places of their output, or add onto it.
Graph Unpooling(const graph::Dim& batch) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({batch, 4, kImage, kImage}));
  graph::Attributes window = compile::With("kernel_shape", Ints{2, 2});
  window.Set("strides", Ints{2, 2});
  const std::vector<ValueId> first = builder.Nodes("MaxPool", {x}, 2, window);
  const ValueId inner = builder.Node("Sigmoid", {first[0]});
  const std::vector<ValueId> second = builder.Nodes("MaxPool", {inner}, 2, window);
  ValueId y = builder.Node("MaxUnpool", {second[0], second[1]}, window);
  y = builder.Node("MaxUnpool", {builder.Node("Sigmoid", {y}), first[1]}, window);
  const ValueId columns = builder.Node(
      "Reshape",
      {builder.Node("Sigmoid", {y}), builder.Int64s("columns", {0, 4, kImage * kImage})});
  graph::Attributes strides = compile::With("strides", Ints{1, 1});
  const ValueId image = builder.Node(
      "Col2Im",
      {columns, builder.Int64s("image", {kImage + 1, kImage + 1}), builder.Int64s("block", {2, 2})},
      strides);
  builder.Output(builder.Node("Neg", {image}));
  return builder.Build();
}

// The same graph with nothing asked of the plan: kernels clear for themselves.
Graph WithoutClearing(Graph graph) {
  for (graph::Node& node : graph.nodes) node.memory.needs_clearing.clear();
  return graph;
}

std::vector<HostTensor> Images(int64_t batch) { return {Random({batch, 4, kImage, kImage}, 11)}; }

TEST(ClearingTest, R5_R6_KernelsThatNeedZerosGetThemFromThePlanAndWriteNoneThemselves) {
  for (const int policy : {0, 1}) {
    const auto session = MakeSession(Under(Policy(policy)));
    const GraphId id = MustAdd(*session, Unpooling(2));
    const std::vector<HostTensor> given = Images(2);
    const auto executable = session->Compile(id, Views(given));
    ASSERT_TRUE(executable.ok() && *executable != nullptr);
    EXPECT_EQ(Clears(**executable).size(), policy == 0 ? 1U : 3U);
    const HostTensor y = MustRun(*session, id, given)[0];
    const HostTensor arena = *kernels::AllocateOnHeap(graph::DataType::kUint8,
                                                      {(*executable)->program().total().value()});
    auto addresses = BindTo(**executable, arena);
    const std::vector<const void*> from = {given[0].data.get()};
    const std::vector<void*> to = {y.data.get()};
    const graph::Graph& graph = (*executable)->model().graph;
    const auto kept = [&](graph::ValueId value, const float* at) {
      const int64_t count = kernels::ElementCount(graph::StaticDims(*graph[value].type.shape));
      return std::count(at, at + count, 1e6F);
    };
    // Numbers that no kernel makes, put into each output just before its kernel runs: those in
    // places that it does not write are there when it is done.
    float* dirtied = nullptr;
    graph::ValueId value;
    int left = 0;
    const auto look = [&](const Task& task) {
      if (task.kind != Task::Kind::kRun) return;
      if (dirtied != nullptr && graph[graph[value].producer].op == "MaxUnpool") {
        left += kept(value, dirtied) > 0 ? 1 : 0;
      }
      dirtied = nullptr;
      if (graph[task.node].memory.needs_clearing.empty()) return;
      value = graph[task.node].outputs[0];
      dirtied = static_cast<float*>(addresses.operands[task.first + task.inputs]);
      std::fill_n(dirtied, kernels::ElementCount(graph::StaticDims(*graph[value].type.shape)),
                  1e6F);
    };
    EXPECT_TRUE((*executable)->Run(addresses, {.inputs = from, .outputs = to}, look).ok());
    EXPECT_EQ(left, 2) << "both unpoolings leave alone what they do not write, policy " << policy;
    EXPECT_LT(ElementsOf(y)[0], -9e5F) << "folding adds onto what it finds, policy " << policy;
  }
}

TEST(ClearingTest, R5_R6_ResultsAreThoseOfKernelsThatClearForThemselves) {
  for (const bool dynamic : {false, true}) {
    const Graph asking = Unpooling(dynamic ? graph::Dim::Symbol("batch") : graph::Dim(3));
    const auto plain = MakeSession();
    const GraphId alone = MustAdd(*plain, WithoutClearing(asking));
    for (const int policy : {0, 1}) {
      const auto session = MakeSession(Under(Policy(policy)));
      const GraphId id = MustAdd(*session, asking);
      for (const int64_t batch : dynamic ? Ints{3, 1, 4, 3} : Ints{3, 3}) {
        const HostTensor expected = MustRun(*plain, alone, Images(batch))[0];
        const HostTensor got = MustRun(*session, id, Images(batch))[0];
        EXPECT_EQ(BytesOf(got), BytesOf(expected)) << "batch " << batch << ", policy " << policy;
        EXPECT_EQ(plain->LastRun(alone)->clearing.clears, 0);
        EXPECT_GT(session->LastRun(id)->clearing.clears, 0);
      }
      if (dynamic) continue;
      EXPECT_NE(ExpectSameBytes(asking, Images(3), Under(Policy(policy))), nullptr);
    }
  }
}

TEST(ClearingTest, AScatterStartsFromItsDataAndNothingIsClearedForIt) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({64, 8}));
  const ValueId data = builder.Node("Sigmoid", {x});
  const ValueId rows = builder.Int64s("rows", {3, 3, 5, 0});
  const ValueId where = builder.Node("Reshape", {rows, builder.Int64s("pairs", {4, 1})});
  const ValueId updates = builder.Float32s("updates", {4, 8}, std::vector<float>(32, 1));
  builder.Output(builder.Node("ScatterND", {data, where, updates},
                              compile::With("reduction", std::string("add"))));
  const auto session = MakeSession();
  const GraphId id = MustAdd(*session, builder.Build());
  const HostTensor y = MustRun(*session, id, {Floats({64, 8}, std::vector<float>(512, 0))})[0];
  EXPECT_EQ(ElementsOf(y)[3 * 8], 2.5F);
  EXPECT_EQ(ElementsOf(y)[5 * 8], 1.5F);
  EXPECT_EQ(ElementsOf(y)[8], 0.5F);
  EXPECT_EQ(session->LastRun(id)->clearing.clears, 0);
}

TEST(ClearingTest, AGraphThatNeedsNoZerosClearsNothing) {
  const auto session = MakeSession();
  const GraphId id = MustAdd(*session, AddOne({8}));
  MustRun(*session, id, {Random({8}, 1)});
  EXPECT_EQ(session->LastRun(id)->clearing.clears, 0);
  EXPECT_EQ(session->LastRun(id)->clearing.bytes, Bytes(0));
}

// A view is its input's bytes, a concatenation may be those of its inputs: clearing them is no
// reason to lose them.
TEST(ClearingTest, R6_WhatIsClearedSharesNoMemoryWithWhatItsNodeReads) {
  for (const int policy : {0, 1}) {
    for (const char* op : {"Reshape", "Concat", "Split"}) {
      GraphBuilder builder;
      const ValueId x = builder.Input("x", FloatTensor({6, 8}));
      const ValueId y = builder.Node("Tanh", {x});
      std::vector<ValueId> made;
      if (op == std::string("Reshape")) {
        made = {builder.Node(op, {y, builder.Int64s("shape", {8, 6})})};
      } else if (op == std::string("Concat")) {
        made = {builder.Node(op, {y, builder.Node("Sin", {x})}, compile::With("axis", int64_t{0}))};
      } else {
        made = builder.Nodes(op, {y, builder.Int64s("parts", {2, 4})}, 2);
      }
      for (const ValueId value : made) builder.Output(builder.Node("Sin", {value}));
      Graph graph = builder.Build();
      const auto plain = MakeSession();
      const std::vector<HostTensor> inputs = {Random({6, 8}, 7)};
      const auto expected = MustRun(*plain, MustAdd(*plain, graph), inputs);
      graph[graph[made[0]].producer].memory.needs_clearing = {0};
      const auto session = MakeSession(Under(Policy(policy)));
      const auto got = MustRun(*session, MustAdd(*session, graph), inputs);
      for (size_t i = 0; i < got.size(); ++i) {
        EXPECT_EQ(BytesOf(got[i]), BytesOf(expected[i])) << op << " under " << policy;
      }
    }
  }
}

TEST(ClearingTest, AnEmptyOutputNeedsNoClearing) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({}));
  const ValueId empty = builder.Node("Shape", {builder.Node("Neg", {x})});
  builder.Output(builder.Node("Sin", {x}));
  Graph graph = builder.Build();
  graph[graph[empty].producer].memory.needs_clearing = {0};
  ExpectSameBytes(graph, {Floats({}, {0.5F})}, {});
}

}  // namespace clearing_test
}  // namespace plimsoll::engine
