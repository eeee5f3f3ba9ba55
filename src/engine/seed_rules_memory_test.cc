#include <gtest/gtest.h>

#include <algorithm>

#include "compile/passes/bodies.h"
#include "engine/models_for_tests.h"
#include "engine/random/configured_runs_for_tests.h"
#include "engine/streams/logged_device_for_tests.h"
#include "engine/variables/training_for_tests.h"
#include "plimsoll/device/cpu_device.h"

// Rules of planned memory, by the addresses that the tasks of a run get.
namespace plimsoll::engine {
namespace seed_rules_memory_test {

using compile::FloatTensor;
using device::DeviceCall;
using graph::Dim;
using graph::Graph;
using graph::GraphBuilder;
using graph::Node;
using graph::ValueId;
using kernels::HostTensor;

constexpr int64_t kSide = 64;
constexpr int64_t kProduct = kSide * kSide * 4;

struct Range {
  const std::byte* begin = nullptr;
  int64_t size = 0;
  const std::byte* end() const { return begin + size; }
  bool Overlaps(const Range& other) const {
    return size > 0 && other.size > 0 && begin < other.end() && other.begin < end();
  }
};

// One node as it runs, and where its tensors lie.
struct Ran {
  const Node* node = nullptr;
  std::vector<Range> inputs;
  std::vector<Range> outputs;
};

// A run of what the session compiled for these inputs, task by task.
struct Observed {
  Observed(Session& session, GraphId id, const std::vector<HostTensor>& inputs,
           const std::vector<HostTensor>& outputs)
      : executable(*session.Compile(id, Views(inputs))),
        arena(*kernels::AllocateOnHeap(graph::DataType::kUint8,
                                       {executable->program().total().value()})) {
    auto addresses = BindTo(*executable, arena);
    std::vector<const void*> from;
    for (const HostTensor& input : inputs) from.push_back(input.data.get());
    std::vector<void*> to;
    for (const HostTensor& output : outputs) to.push_back(output.data.get());
    const Graph& graph = executable->model().graph;
    const auto look = [&](const Task& task) {
      const auto range = [&](size_t operand, int64_t size) {
        return Range{static_cast<const std::byte*>(addresses.operands[task.first + operand]), size};
      };
      if (task.kind == Task::Kind::kClear) cleared.push_back(range(0, task.bytes));
      if (task.kind != Task::Kind::kRun) return;
      Ran ran{.node = &graph[task.node], .inputs = {}, .outputs = {}};
      const auto size = [&](ValueId value) {
        return value.valid() ? compile::PlannedSize(graph[value].type).value() : 0;
      };
      for (size_t i = 0; i < task.inputs; ++i) {
        ran.inputs.push_back(range(i, size(ran.node->inputs[i])));
      }
      for (size_t i = 0; i < task.outputs; ++i) {
        ran.outputs.push_back(range(task.inputs + i, size(ran.node->outputs[i])));
      }
      nodes.push_back(std::move(ran));
    };
    EXPECT_TRUE(executable->Run(addresses, {.inputs = from, .outputs = to}, look).ok());
  }

  const Ran& Of(std::string_view op) const {
    return *std::find_if(nodes.begin(), nodes.end(),
                         [&](const Ran& ran) { return ran.node->op == op; });
  }

  std::shared_ptr<const Executable> executable;
  HostTensor arena;
  std::vector<Ran> nodes;
  std::vector<Range> cleared;
};

// max by row of x w1 + x w2, whose sum wants its operands side by side, the first one first or
// last.
Graph SumOfNeighbours(const Dim& rows, bool reversed) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({rows, kSide}));
  const ValueId a = builder.Node("MatMul", {x, RandomWeights(builder, "w1", {kSide, 256}, 1)});
  const ValueId b = builder.Node("MatMul", {x, RandomWeights(builder, "w2", {kSide, 256}, 2)});
  const ValueId sum = builder.Node("Add", {reversed ? b : a, reversed ? a : b});
  builder.Output(builder.Node("ReduceMax", {sum, builder.Int64s("axes", {1})}));
  Graph graph = builder.Build();
  graph[graph[sum].producer].memory.continuous_input =
      graph::MemoryAttributes::Continuous::kUnpadded;
  return graph;
}

TEST(SeedRulesMemoryTest, R48_ContinuousIsAdjacentInAddressesThoughTheMemoryIsOfSeveralChunks) {
  for (const bool reversed : {false, true}) {
    const auto log = std::make_shared<CallLog>();
    config::RunConfig config;
    config.memory_config.static_memory_policy = config::StaticMemoryPolicy::kExpandableDynamic;
    SessionOptions options = Under(config);
    options.device = std::make_shared<LoggedDevice>(
        std::make_shared<device::CpuDevice>(device::CpuOptions{.granularity = KiB(4)}), log);
    const auto session = MakeSession(options);
    const GraphId id = MustAdd(*session, SumOfNeighbours(Dim::Symbol("rows"), reversed));
    const auto plain = MakeSession();
    const GraphId expected = MustAdd(*plain, SumOfNeighbours(Dim::Symbol("rows"), reversed));
    int64_t group = 0;
    for (const int64_t rows : {600, 1000}) {
      const std::vector<HostTensor> inputs = {Random({rows, kSide}, 7)};
      const auto outputs = MustRun(*session, id, inputs);
      EXPECT_EQ(BytesOf(outputs[0]), BytesOf(MustRun(*plain, expected, inputs)[0]));
      const Observed run(*session, id, inputs, outputs);
      const Ran& sum = run.Of("Add");
      EXPECT_EQ(sum.inputs[1].begin, sum.inputs[0].end());
      group = sum.inputs[0].size + sum.inputs[1].size;
    }
    Bytes largest;
    for (const LoggedCall& call : log->calls) {
      if (call.call == DeviceCall::kCreateChunk) largest = std::max(largest, call.size);
    }
    EXPECT_GE(log->Count(DeviceCall::kCreateChunk), 2);
    EXPECT_LT(largest, Bytes(group)) << "no chunk holds the whole of it";
  }
}

// Products in a row, of which every second asks for zeroed memory.
Graph EverySecondCleared(int count) {
  GraphBuilder builder;
  const ValueId w = RandomWeights(builder, "w", {kSide, kSide}, 3);
  ValueId y = builder.Input("x", FloatTensor({kSide, kSide}));
  std::vector<ValueId> products;
  for (int i = 0; i < count; ++i) products.push_back(y = builder.Node("MatMul", {y, w}));
  builder.Output(builder.Node("MatMul", {y, w}));
  Graph graph = builder.Build();
  for (size_t i = 0; i < products.size(); i += 2) {
    graph[graph[products[i]].producer].memory.needs_clearing = {0};
  }
  return graph;
}

TEST(SeedRulesMemoryTest, R50_R51_TheClearedAreaHoldsWhatAskedForItAndNobodyElse) {
  const auto session = MakeSession();
  const GraphId id = MustAdd(*session, EverySecondCleared(8));
  const std::vector<HostTensor> inputs = {Random({kSide, kSide}, 8)};
  const Observed run(*session, id, inputs, MustRun(*session, id, inputs));
  ASSERT_EQ(run.cleared.size(), 1U);
  EXPECT_EQ(run.cleared[0].size, 4 * kProduct);
  std::vector<Range> asked;
  for (const Ran& ran : run.nodes) {
    const bool asks = !ran.node->memory.needs_clearing.empty();
    EXPECT_EQ(ran.outputs[0].Overlaps(run.cleared[0]), asks) << "R51";
    if (!asks) continue;
    for (const Range& other : asked) EXPECT_FALSE(ran.outputs[0].Overlaps(other)) << "R50";
    asked.push_back(ran.outputs[0]);
  }
  EXPECT_EQ(asked.size(), 4U);
}

TEST(SeedRulesMemoryTest, R54_MemoryOfTheCallersIsNeverMerged) {
  SKIP_UNLESS_HOST_REACHES_DEVICE();
  GraphBuilder builder;
  const ValueId p = builder.Input("p", FloatTensor({kSide}));
  const ValueId q = builder.Input("q", FloatTensor({kSide}));
  const ValueId both = builder.Node("Concat", {p, q}, compile::With("axis", int64_t{0}));
  const auto halves = builder.Nodes("Split", {builder.Node("Neg", {both})}, 2);
  for (const ValueId half : halves) builder.Output(half);
  const auto session = MakeSession();
  const GraphId id = MustAdd(*session, builder.Build());
  // One behind the other the wrong way round, with bytes of somebody else's in between.
  const HostTensor memory = Random({10 * kSide}, 1);
  const auto at = [&](int64_t place) {
    return std::shared_ptr<void>(memory.data, static_cast<float*>(memory.data.get()) + place);
  };
  const std::vector<float> before = ElementsOf(memory);
  const HostTensor places[] = {{graph::DataType::kFloat32, {kSide}, at(8 * kSide)},
                               {graph::DataType::kFloat32, {kSide}, at(6 * kSide)},
                               {graph::DataType::kFloat32, {kSide}, at(4 * kSide)},
                               {graph::DataType::kFloat32, {kSide}, at(2 * kSide)}};
  const std::vector<TensorView> from = {View(places[0]), View(places[1])};
  const std::vector<TensorView> to = {View(places[2]), View(places[3])};
  ASSERT_TRUE(session->Run(id, from, to).ok());
  const std::vector<float> after = ElementsOf(memory);
  for (size_t i = 0; i < after.size(); ++i) {
    const size_t place = i / kSide;
    float expected = before[i];
    if (place == 4 || place == 2) expected = -before[i + 4 * kSide];
    EXPECT_EQ(after[i], expected) << i;
  }
  const RunRecord record = *session->LastRun(id);
  for (const compile::PortUse& use : record.ports.inputs) EXPECT_TRUE(use.in_place());
}

TEST(SeedRulesMemoryTest, R56_WhatIsPlannedBeginsAtMultiplesOf512) {
  const auto session = MakeSession();
  const GraphId id = MustAdd(*session, ConvolutionalNetwork());
  const std::vector<HostTensor> image = {Random({1, 3, 20, 20}, 4)};
  MustRun(*session, id, image);
  const auto executable = *session->Compile(id, Views(image));
  const auto& planned = executable->model().planned;
  int buffers = 0;
  for (size_t i = 0; i < planned.buffers.problem.buffers.size(); ++i) {
    const plan::Buffer& buffer = planned.buffers.problem.buffers[i];
    if (buffer.region != planned.buffers.feature_map) continue;
    const bool joined =
        std::any_of(planned.buffers.problem.contiguous.begin(),
                    planned.buffers.problem.contiguous.end(), [&](const auto& group) {
                      return std::find(group.members.begin() + 1, group.members.end(),
                                       plan::BufferId(i)) != group.members.end();
                    });
    if (joined) continue;
    EXPECT_EQ(planned.plan.offsets[i].value() % 512, 0) << buffer.name;
    ++buffers;
  }
  EXPECT_GT(buffers, 3);
}

// e^x + shift, by row.
Graph Shifted() {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({Dim::Symbol("rows"), kSide}));
  const ValueId shift = RandomWeights(builder, "shift", {kSide}, 5);
  const ValueId y = builder.Node("Mul", {builder.Node("Exp", {x}), shift});
  builder.Output(builder.Node("Transpose", {y}));
  return builder.Build();
}

TEST(SeedRulesMemoryTest, R60_ConstantsFileConstantsAndVariablesKeepTheirAddresses) {
  SKIP_UNLESS_HOST_REACHES_DEVICE();
  for (const bool in_files : {false, true}) {
    config::RunConfig config;
    config.external_weight = in_files;
    config.work_path = testing::TempDir();
    const auto session = MakeSession(Under(config));
    const GraphId id = MustAdd(*session, Shifted());
    std::vector<const std::byte*> addresses;
    for (const int64_t rows : {3, 500, 3, 40}) {
      const std::vector<HostTensor> inputs = {Random({rows, kSide}, 1)};
      const Observed run(*session, id, inputs, MustRun(*session, id, inputs));
      addresses.push_back(run.Of("Mul").inputs[1].begin);
      MustRun(*session, MustAdd(*session, EverySecondCleared(2)), {Random({kSide, kSide}, 8)});
    }
    ASSERT_NE(addresses[0], nullptr);
    EXPECT_EQ(std::count(addresses.begin(), addresses.end(), addresses[0]), 4);
  }
  const auto session = MakeSession(Training());
  const GraphId step = MustAdd(*session, MomentumStep());
  const std::vector<Variable> before = session->variables().List();
  for (int i = 0; i < 3; ++i) MustRun(*session, step, {Floats({4}, {1, 2, 3, 4})});
  ASSERT_TRUE(session->Unload(step).ok());
  const std::vector<Variable> after = session->variables().List();
  ASSERT_EQ(before.size(), 2U);
  for (size_t i = 0; i < 2; ++i) EXPECT_EQ(after[i].address, before[i].address);
}

TEST(SeedRulesMemoryTest, R61_BytesAtAFixedAddressServeOthersToo) {
  GraphBuilder builder;
  const ValueId w = RandomWeights(builder, "w", {kSide, kSide}, 3);
  ValueId y = builder.Input("x", FloatTensor({kSide, kSide}));
  std::vector<ValueId> products;
  for (int i = 0; i < 6; ++i) products.push_back(y = builder.Node("MatMul", {y, w}));
  builder.Output(builder.Node("MatMul", {y, w}));
  Graph graph = builder.Build();
  for (const size_t fixed : {0, 3})
    graph[graph[products[fixed]].producer].memory.fixed_address = true;
  const auto session = MakeSession();
  const GraphId id = MustAdd(*session, std::move(graph));
  const std::vector<HostTensor> inputs = {Random({kSide, kSide}, 8)};
  const Observed run(*session, id, inputs, MustRun(*session, id, inputs));
  const auto fixed = std::find_if(run.nodes.begin(), run.nodes.end(),
                                  [](const Ran& ran) { return ran.node->memory.fixed_address; });
  ASSERT_NE(fixed, run.nodes.end());
  EXPECT_TRUE(std::any_of(fixed + 1, run.nodes.end(), [&](const Ran& later) {
    return later.outputs[0].Overlaps(fixed->outputs[0]);
  }));
}

}  // namespace seed_rules_memory_test
}  // namespace plimsoll::engine
