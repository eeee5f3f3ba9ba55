#include "compile/passes/host_operators.h"

#include <gtest/gtest.h>

#include <mutex>
#include <set>
#include <thread>

#include "engine/node_by_node/interpreter.h"
#include "engine/random/configured_runs_for_tests.h"
#include "engine/run/streamed_run.h"
#include "plimsoll/device/registry.h"

// ac_parallel_enable: host operators in parallel with the others, in graphs with open sizes.
namespace plimsoll::engine {
namespace host_operators_test {

using compile::FloatTensor;
using compile::With;
using graph::DataType;
using graph::Dim;
using graph::Graph;
using graph::GraphBuilder;
using graph::NodeId;
using graph::ValueId;
using graph::ValueType;
using kernels::HostTensor;

constexpr int64_t kRounds = 6;

// Index arithmetic in parallel with products, which meet in a gather again and again: row
// (ids * 3 + i) % n of what the product made.
Graph Mixed(const Dim& rows) {
  GraphBuilder builder;
  ValueId x = builder.Input("x", FloatTensor({rows, 16}));
  ValueId ids = builder.Input("ids", ValueType::Tensor(DataType::kInt64, graph::Shape{rows}));
  std::vector<float> weights = ElementsOf(Random({16, 16}, 5));
  const ValueId w = builder.Float32s("w", {16, 16}, weights);
  const ValueId count =
      builder.Node("Gather", {builder.Node("Shape", {x}), builder.Int64("first", 0)});
  for (int64_t i = 0; i < kRounds; ++i) {
    const ValueId tripled =
        builder.Node("Mul", {ids, builder.Int64("three" + std::to_string(i), 3)});
    const ValueId moved =
        builder.Node("Add", {tripled, builder.Int64("step" + std::to_string(i), i)});
    ids = builder.Node("Mod", {moved, count});
    x = builder.Node("Gather", {builder.Node("Tanh", {builder.Node("MatMul", {x, w})}), ids},
                     With("axis", int64_t{0}));
  }
  builder.Output(x);
  builder.Output(ids);
  return builder.Build();
}

// The same, with rows that only data tells: those whose mask is set.
Graph MixedWithUnknownRows() {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({Dim::Symbol("n"), 16}));
  const ValueId mask =
      builder.Input("mask", ValueType::Tensor(DataType::kBool, graph::Shape{Dim::Symbol("n")}));
  const ValueId found = builder.Node("NonZero", {mask});
  const ValueId rows = builder.Node("Squeeze", {found, builder.Int64s("axis", {0})});
  ValueId busy = x;
  for (int i = 0; i < 4; ++i) busy = builder.Node("Sin", {busy});
  const ValueId twice = builder.Node("Concat", {rows, rows}, With("axis", int64_t{0}));
  const ValueId sorted = builder.Node("Neg", {builder.Node("Neg", {twice})});
  builder.Output(builder.Node("Gather", {busy, sorted}, With("axis", int64_t{0})));
  builder.Output(builder.Node("Cos", {busy}));
  return builder.Build();
}

HostTensor Indices(int64_t count) {
  HostTensor tensor = *kernels::AllocateOnHeap(DataType::kInt64, {count});
  for (int64_t i = 0; i < count; ++i) {
    kernels::StoreInteger(tensor.type, tensor.data.get(), i, i * 5 % count);
  }
  return tensor;
}

std::vector<HostTensor> MixedInputs(int64_t rows) { return {Random({rows, 16}, 7), Indices(rows)}; }

SessionOptions Parallel(bool enabled, int threads = 1) {
  config::RunConfig config;
  config.ac_parallel_enable = enabled;
  SessionOptions options = Under(config);
  options.threads = threads;
  return options;
}

std::shared_ptr<const Executable> Compiled(const Graph& graph, int64_t rows, bool enabled) {
  const auto session = MakeSession(Parallel(enabled));
  const GraphId id = MustAdd(*session, graph);
  return *session->Compile(id, Views(MixedInputs(rows)));
}

int NodesOnHostStream(const Executable& executable) {
  int on_host = 0;
  for (const NodeId id : executable.model().planned.order) {
    on_host += executable.model().graph[id].memory.stream == StreamSet::kHost ? 1 : 0;
  }
  return on_host;
}

TEST(HostOperatorsTest, R125_IndependentHostOperatorsAreFoundByTheirTypesAndTheirPlace) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({8}));
  const ValueId ids = builder.Input("ids", ValueType::Tensor(DataType::kInt64, graph::Shape{8}));
  const ValueId free = builder.Node("Neg", {ids});
  const ValueId bound = builder.Node("ArgMax", {x}, With("axis", int64_t{0}));
  const ValueId after = builder.Node("Add", {bound, bound});
  builder.Output(builder.Node("Exp", {x}));
  builder.Output(free);
  builder.Output(after);
  const Graph graph = compile::Inferred(builder);
  const auto is_host = [&](ValueId value) {
    return compile::IsHostOperator(graph, graph[value].producer);
  };
  EXPECT_TRUE(is_host(free));
  EXPECT_FALSE(is_host(bound)) << "it reads floats";
  EXPECT_TRUE(is_host(after));
  const std::vector<bool> independent = compile::IndependentHostOperators(graph);
  EXPECT_TRUE(independent[graph[free].producer.index()]);
  EXPECT_TRUE(independent[graph[after].producer.index()]) << "in parallel with Exp";
}

TEST(HostOperatorsTest, R125_AHostOperatorThatEverythingWaitsForStaysWhereItIs) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({8}));
  const ValueId ids = builder.Input("ids", ValueType::Tensor(DataType::kInt64, graph::Shape{8}));
  builder.Output(builder.Node("Exp", {builder.Node("Gather", {x, builder.Node("Neg", {ids})})}));
  Graph graph = compile::Inferred(builder);
  EXPECT_EQ(compile::MoveHostOperatorsToOwnStream(graph), 0);
}

TEST(HostOperatorsTest, R124_OneGivesHostOperatorsAStreamAndZeroDoesNot) {
  EXPECT_GE(NodesOnHostStream(*Compiled(Mixed(Dim::Symbol("n")), 40, true)), kRounds);
  EXPECT_EQ(NodesOnHostStream(*Compiled(Mixed(Dim::Symbol("n")), 40, false)), 0);
}

TEST(HostOperatorsTest, R125_GraphsOfFixedShapeAreNotAffected) {
  EXPECT_EQ(NodesOnHostStream(*Compiled(Mixed(40), 40, true)), 0);
}

TEST(HostOperatorsTest, R124_BothStreamsRunTheirOperatorsAndResultsAreTheSame) {
  const Graph graph = Mixed(Dim::Symbol("n"));
  for (const int threads : {1, 2}) {
    for (const int64_t rows : {3, 40, 700}) {
      ExpectSameBytes(graph, MixedInputs(rows), Parallel(true, threads));
    }
  }
}

// Inputs that differ between gears are copied before anything runs, on either stream.
TEST(HostOperatorsTest, R58_CopiedInputsOfGearsLiveFromTheFirstStepOfAll) {
  SessionOptions options;
  options.config.ac_parallel_enable = true;
  options.config.dynamic_dims = "8;13";
  for (const int64_t rows : {8, 13}) {
    const auto executable = ExpectSameBytes(Mixed(Dim::Symbol("rows")), MixedInputs(rows), options);
    ASSERT_NE(executable, nullptr);
    ASSERT_EQ(StreamedRun::StreamsOf(*executable), 2U);
    const auto& model = executable->model();
    for (const ValueId input : model.graph.root().inputs) {
      const plan::Buffer& buffer =
          model.planned.buffers.problem.buffer(model.planned.buffers.buffer_of[input.index()]);
      EXPECT_EQ(buffer.region, model.planned.buffers.feature_map);
      std::vector<plan::Use> uses = buffer.elsewhere;
      uses.push_back(buffer.life);
      const auto first = static_cast<size_t>(model.planned.timeline.steps[0].stream);
      EXPECT_TRUE(std::any_of(uses.begin(), uses.end(), [&](const plan::Use& use) {
        return use.stream.index() == first && use.begin == 0;
      })) << "nothing is over before the first step of all";
    }
  }
}

TEST(HostOperatorsTest, R124_EveryTaskRunsOnItsStreamAfterWhatItNeeds) {
  SKIP_UNLESS_HOST_REACHES_DEVICE();
  const auto session = MakeSession(Parallel(true));
  const GraphId id = MustAdd(*session, Mixed(Dim::Symbol("n")));
  const auto executable = *session->Compile(id, Views(MixedInputs(200)));
  ASSERT_NE(executable, nullptr);
  const StreamedRun run(executable);
  const std::shared_ptr<device::Device> device = *device::MakeDevice("cpu");
  const auto streams = std::make_unique<StreamSet>(device, device->Current());
  ASSERT_TRUE(streams->Grow(2).ok());
  const HostTensor arena =
      *kernels::AllocateOnHeap(DataType::kUint8, {executable->program().total().value()});
  auto addresses = BindTo(*executable, arena);
  const auto inputs = MixedInputs(200);
  const auto outputs = CopiesOf(inputs);
  const std::vector<const void*> from = {inputs[0].data.get(), inputs[1].data.get()};
  const std::vector<void*> to = {outputs[0].data.get(), outputs[1].data.get()};

  const Graph& graph = executable->model().graph;
  std::mutex mutex;
  std::set<NodeId> begun;
  std::set<std::thread::id> threads[2];
  const auto before = [&](const Task& task) {
    const std::lock_guard lock(mutex);
    if (!task.node.valid()) return;
    threads[graph[task.node].memory.stream].insert(std::this_thread::get_id());
    for (const ValueId input : graph[task.node].inputs) {
      if (!input.valid() || !graph[input].producer.valid()) continue;
      EXPECT_TRUE(begun.contains(graph[input].producer)) << graph::Describe(graph, task.node);
    }
    begun.insert(task.node);
  };
  for (int pass = 0; pass < 20; ++pass) {
    begun.clear();
    ASSERT_TRUE(run.Run(*streams, {}, addresses, {.inputs = from, .outputs = to}, before).ok());
    EXPECT_EQ(begun.size(), executable->model().planned.order.size());
  }
  EXPECT_EQ(threads[StreamSet::kCore].size(), 1U);
  EXPECT_EQ(threads[StreamSet::kHost].size(), 1U);
  EXPECT_NE(threads[StreamSet::kCore], threads[StreamSet::kHost]);
  const auto plain = MakeSession();
  const auto expected = MustRun(*plain, MustAdd(*plain, Mixed(Dim::Symbol("n"))), inputs);
  EXPECT_EQ(BytesOf(outputs[0]), BytesOf(expected[0]));
  EXPECT_EQ(BytesOf(outputs[1]), BytesOf(expected[1]));
}

// An index that is out of range is found while the other stream works.
TEST(HostOperatorsTest, R124_AnErrorOfOneStreamEndsTheRunAndTheNextOneIsRight) {
  const Graph graph = Mixed(Dim::Symbol("n"));
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({Dim::Symbol("n"), 16}));
  const ValueId ids =
      builder.Input("ids", ValueType::Tensor(DataType::kInt64, graph::Shape{Dim::Symbol("n")}));
  const ValueId table = builder.Int64s("table", {10, 20, 30});
  builder.Output(builder.Node("Gather", {table, ids}));
  builder.Output(builder.Node("Tanh", {builder.Node("Exp", {x})}));
  const auto session = MakeSession(Parallel(true));
  const GraphId id = MustAdd(*session, builder.Build());
  const HostTensor good = *kernels::AllocateOnHeap(DataType::kInt64, {2});
  for (const int64_t index : {1, 7, 2}) {
    for (int64_t i = 0; i < 2; ++i) kernels::StoreInteger(good.type, good.data.get(), i, index);
    const auto outputs = session->RunValues(id, Values({Random({2, 16}, 1), good}));
    ASSERT_EQ(outputs.ok(), index < 3);
    if (outputs.ok()) {
      EXPECT_EQ(ElementsOf((*outputs)[0].tensor)[0], static_cast<float>(10 + 10 * index));
    }
  }
}

TEST(HostOperatorsTest, R124_GraphsThatRunNodeByNodeUseBothStreamsToo) {
  const auto session = MakeSession(Parallel(true));
  const GraphId id = MustAdd(*session, MixedWithUnknownRows());
  const auto plain = MakeSession();
  const GraphId same = MustAdd(*plain, MixedWithUnknownRows());
  for (const int64_t rows : {1, 50, 400}) {
    const std::vector<HostTensor> inputs = {Random({rows, 16}, 3),
                                            Random({rows}, 4, DataType::kBool)};
    const auto got = MustRun(*session, id, inputs);
    const auto expected = MustRun(*plain, same, inputs);
    ASSERT_EQ(got.size(), 2U);
    for (size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(got[i].dims, expected[i].dims);
      EXPECT_EQ(BytesOf(got[i]), BytesOf(expected[i]));
    }
  }
}

TEST(HostOperatorsTest, R124_AWalkHandsIndependentHostOperatorsToTheOtherThread) {
  Graph graph = MixedWithUnknownRows();
  for (const ValueId input : graph.root().inputs) graph[input].type = graph[input].declared;
  ASSERT_TRUE(compile::InferShapes(graph).ok());
  Interpreter interpreter(graph);
  const std::shared_ptr<device::Device> device = *device::MakeDevice("cpu");
  const auto streams = std::make_unique<StreamSet>(device, device->Current());
  ASSERT_TRUE(streams->Grow(2).ok());
  for (StreamSet* const pair : {static_cast<StreamSet*>(nullptr), streams.get()}) {
    std::mutex mutex;
    std::set<std::string> elsewhere;
    Interpreter::Options options;
    options.streams = pair;
    options.observe = [&, walk = std::this_thread::get_id()](ValueId value, const auto&) {
      const std::lock_guard lock(mutex);
      const NodeId producer = graph[value].producer;
      if (std::this_thread::get_id() != walk) elsewhere.insert(graph[producer].op);
    };
    const auto outputs =
        interpreter.Run(Values({Random({60, 16}, 3), Random({60}, 4, DataType::kBool)}), options);
    ASSERT_TRUE(outputs.ok());
    const std::set<std::string> expected = {"NonZero", "Squeeze", "Concat", "Neg"};
    EXPECT_EQ(elsewhere, pair == nullptr ? std::set<std::string>() : expected);
  }
}

}  // namespace host_operators_test
}  // namespace plimsoll::engine
