#include <gtest/gtest.h>

#include <algorithm>

#include "engine/configured_runs_for_tests.h"
#include "engine/models_for_tests.h"

// atomic_clean_policy: operators that need zeroed memory.
namespace plimsoll::engine {
namespace {

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
  const auto apart = ExpectSameBytes(ClearedProducts(6), Square(), Under(Policy(1)));
  ASSERT_NE(apart, nullptr);
  EXPECT_TRUE(apart->model().planned.plan.clearing_areas.empty());
  EXPECT_EQ(Clears(*apart).size(), 6U);
  EXPECT_EQ(NodesThatFindZeros(*apart), 6);
  const auto& tasks = apart->program().tasks;
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

TEST(ClearingTest, AGraphThatNeedsNoZerosClearsNothing) {
  const auto session = MakeSession();
  const GraphId id = MustAdd(*session, AddOne({8}));
  MustRun(*session, id, {Random({8}, 1)});
  EXPECT_EQ(session->LastRun(id)->clearing.clears, 0);
  EXPECT_EQ(session->LastRun(id)->clearing.bytes, Bytes(0));
}

}  // namespace
}  // namespace plimsoll::engine
