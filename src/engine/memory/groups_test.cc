#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "engine/random/configured_runs_for_tests.h"
#include "plimsoll/base/text.h"

// Operands that must lie side by side lie so when their node runs.
namespace plimsoll::engine {
namespace groups_test {

using compile::FloatTensor;
using compile::With;
using graph::Graph;
using graph::GraphBuilder;
using graph::MemoryAttributes;
using graph::NodeId;
using graph::ValueId;
using kernels::HostTensor;
using Continuous = MemoryAttributes::Continuous;

// An address and a size.
struct Seen {
  const std::byte* at = nullptr;
  int64_t bytes = 0;
};

// The operands of a node at the moment when it runs.
std::vector<Seen> OperandsOf(const Executable& executable, const std::vector<HostTensor>& inputs,
                             NodeId node, bool of_inputs) {
  const Graph& graph = executable.model().graph;
  const HostTensor arena =
      *kernels::AllocateOnHeap(graph::DataType::kUint8, {executable.program().total().value()});
  auto addresses = BindTo(executable, arena);
  std::vector<HostTensor> made;
  std::vector<const void*> from;
  std::vector<void*> to;
  for (const HostTensor& input : inputs) from.push_back(input.data.get());
  for (const ValueId output : graph.root().outputs) {
    made.push_back(*kernels::AllocateOnHeap(graph[output].type.data_type,
                                            graph::StaticDims(*graph[output].type.shape)));
    to.push_back(made.back().data.get());
  }
  std::vector<Seen> seen;
  const auto look = [&](const Task& task) {
    if (task.kind != Task::Kind::kRun || task.node != node) return;
    const auto& values = of_inputs ? graph[node].inputs : graph[node].outputs;
    for (size_t i = 0; i < values.size(); ++i) {
      const size_t operand = task.first + (of_inputs ? 0 : task.inputs) + i;
      seen.push_back(
          {static_cast<const std::byte*>(addresses.operands[operand]),
           graph::SizeOf(graph[values[i]].type.data_type,
                         kernels::ElementCount(graph::StaticDims(*graph[values[i]].type.shape)))
               .value()});
    }
  };
  EXPECT_TRUE(executable.Run(addresses, {.inputs = from, .outputs = to}, look).ok());
  return seen;
}

void ExpectSideBySide(const std::vector<Seen>& seen, Continuous how) {
  ASSERT_GT(seen.size(), 1U);
  for (size_t i = 1; i < seen.size(); ++i) {
    int64_t expected = seen[i - 1].at - seen[0].at + seen[i - 1].bytes;
    if (how == Continuous::kPadded) expected = Bytes(expected).RoundUp(512).value();
    EXPECT_EQ(seen[i].at - seen[0].at, expected) << "operand " << i;
  }
}

struct Case {
  Graph graph;
  std::vector<HostTensor> inputs;
  ValueId marked;  // an output of the node that asks
};

// A node that reads a constant, an input of the model, the same value twice, parts of a Split in
// the wrong order and a value that another such node reads as well.
Case ManyInputs() {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({3, 70}));
  const ValueId y = builder.Node("Tanh", {x});
  const std::vector<float> ones(210, 1.5F);
  const ValueId c = builder.Float32s("c", {3, 70}, ones);
  const ValueId both =
      builder.Node("Concat", {y, builder.Node("Sin", {x})}, With("axis", int64_t{0}));
  const ValueId upper = builder.Node("Slice", {both, builder.Int64s("f", {3}),
                                               builder.Int64s("t", {6}), builder.Int64s("a", {0})});
  const ValueId lower = builder.Node(
      "Slice",
      {both, builder.Int64s("f2", {0}), builder.Int64s("t2", {3}), builder.Int64s("a2", {0})});
  const ValueId own = builder.Node("Neg", {x});
  const ValueId first = builder.Node("Sum", {own, builder.Node("Cos", {x})});
  const ValueId sum = builder.Node("Sum", {x, c, own, own, upper, lower, first});
  builder.Output(builder.Node("Tanh", {sum}));
  builder.Output(own);
  Graph graph = builder.Build();
  graph[graph[first].producer].memory.continuous_input = Continuous::kUnpadded;
  return {std::move(graph), {Random({3, 70}, 2)}, sum};
}

TEST(GroupsTest, R47_InputsLieSideBySideInInputOrderWhoeverMadeThem) {
  SKIP_UNLESS_HOST_REACHES_DEVICE();
  for (const Continuous how : {Continuous::kPadded, Continuous::kUnpadded}) {
    Case drawn = ManyInputs();
    const NodeId node = drawn.graph[drawn.marked].producer;
    drawn.graph[node].memory.continuous_input = how;
    const auto executable = ExpectSameBytes(drawn.graph, drawn.inputs, {});
    ASSERT_NE(executable, nullptr);
    ExpectSideBySide(OperandsOf(*executable, drawn.inputs, node, true), how);
  }
}

TEST(GroupsTest, R47_WhatACopyCostsIsInThePlanAndTheReport) {
  Case drawn = ManyInputs();
  const NodeId node = drawn.graph[drawn.marked].producer;
  const auto without = ExpectSameBytes(drawn.graph, drawn.inputs, {});
  drawn.graph[node].memory.continuous_input = Continuous::kPadded;
  const auto with = ExpectSameBytes(drawn.graph, drawn.inputs, {});
  EXPECT_GT(PeakOf(*with), PeakOf(*without));
  const auto& notes = with->model().planned.buffers.notes;
  EXPECT_TRUE(std::any_of(notes.begin(), notes.end(), [](const auto& note) {
    return note.text.find("are copied for that in each run") != std::string::npos;
  }));
}

// x of 8 rows, split into 2 and 6.
Case SplitOutputs(bool outputs_of_the_model) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({8, 30}));
  const ValueId y = builder.Node("Tanh", {x});
  const std::vector<ValueId> parts =
      builder.Nodes("Split", {y, builder.Int64s("parts", {2, 6})}, 2);
  for (const ValueId part : parts) {
    builder.Output(outputs_of_the_model ? part : builder.Node("Sin", {part}));
  }
  return {builder.Build(), {Random({8, 30}, 2)}, parts[0]};
}

TEST(GroupsTest, R47_OutputsLieSideBySideInOutputOrderAlsoWhereTheyAreTheCallers) {
  for (const bool callers : {false, true}) {
    for (const Continuous how : {Continuous::kPadded, Continuous::kUnpadded}) {
      Case drawn = SplitOutputs(callers);
      const NodeId node = drawn.graph[drawn.marked].producer;
      drawn.graph[node].memory.continuous_output = how;
      const auto executable = ExpectSameBytes(drawn.graph, drawn.inputs, {});
      ASSERT_NE(executable, nullptr);
      ExpectSideBySide(OperandsOf(*executable, drawn.inputs, node, false), how);
    }
  }
}

// Three nodes whose results form one region; the second is an output of the model.
struct Collective {
  Graph graph;
  std::vector<NodeId> nodes;
};

Collective Region() {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({5, 33}));
  const ValueId a = builder.Node("Tanh", {x});
  const ValueId b = builder.Node("Sin", {builder.Node("Cos", {a})});
  const ValueId c = builder.Node("Softmax", {builder.Node("Mul", {b, a})});
  ValueId y = builder.Node("Neg", {c});
  for (int i = 0; i < 3; ++i) y = builder.Node("Softmax", {builder.Node("Add", {y, x})});
  builder.Output(b);
  builder.Output(y);
  Collective made{builder.Build(), {}};
  int index = 2;
  for (const ValueId value : {a, b, c}) {
    const NodeId node = made.graph[value].producer;
    made.nodes.push_back(node);
    made.graph[node].memory.group = {"gradients", index--};
  }
  return made;
}

TEST(GroupsTest, R49_OutputsOfSeveralOperatorsFormOneRegionInTheOrderOfTheirIndices) {
  const Collective made = Region();
  const std::vector<HostTensor> inputs = {Random({5, 33}, 4)};
  const auto executable = ExpectSameBytes(made.graph, inputs, {});
  ASSERT_NE(executable, nullptr);
  std::vector<Seen> seen;
  for (auto node = made.nodes.rbegin(); node != made.nodes.rend(); ++node) {
    const auto one = OperandsOf(*executable, inputs, *node, false);
    ASSERT_EQ(one.size(), 1U);
    seen.push_back(one[0]);
  }
  const auto& problem = executable->model().planned.buffers.problem;
  const auto& offsets = executable->model().planned.plan.offsets;
  ASSERT_EQ(problem.contiguous.size(), 1U);
  const auto& members = problem.contiguous[0].members;
  ASSERT_EQ(members.size(), 3U);
  for (size_t i = 1; i < members.size(); ++i) {
    EXPECT_EQ(offsets[members[i].index()],
              offsets[members[i - 1].index()] + problem.buffer(members[i - 1]).size);
    EXPECT_EQ(problem.buffer(members[i]).life.end, problem.buffer(members[0]).life.end)
        << "kept as one until the last was read";
  }
}

TEST(GroupsTest, R48_SideBySideMeansInThePlansAddresses) {
  // Three regions of 64 KiB pages are one range of addresses, whatever pages lie behind it.
  config::RunConfig config;
  config.memory_config.static_memory_policy = config::StaticMemoryPolicy::kSharedAndExpandable;
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({300, 200}));
  const ValueId sum = builder.Node("Sum", {builder.Node("Tanh", {x}), builder.Node("Sin", {x})});
  builder.Output(builder.Node("Neg", {sum}));
  Graph graph = builder.Build();
  const NodeId node = graph[sum].producer;
  graph[node].memory.continuous_input = Continuous::kUnpadded;
  const std::vector<HostTensor> inputs = {Random({300, 200}, 4)};
  const auto executable = ExpectSameBytes(graph, inputs, Under(config));
  ASSERT_NE(executable, nullptr);
  ExpectSideBySide(OperandsOf(*executable, inputs, node, true), Continuous::kUnpadded);
}

TEST(GroupsTest, R47_AClearedValueThatANodeReadsTwiceLiesThereTwice) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({3, 70}));
  const ValueId y = builder.Node("Tanh", {x});
  const ValueId sum = builder.Node("Sum", {y, y});
  builder.Output(builder.Node("Sin", {sum}));
  Graph graph = builder.Build();
  graph[graph[y].producer].memory.needs_clearing = {0};
  const NodeId node = graph[sum].producer;
  graph[node].memory.continuous_input = Continuous::kPadded;
  const std::vector<HostTensor> inputs = {Random({3, 70}, 2)};
  const auto executable = ExpectSameBytes(graph, inputs, {});
  ASSERT_NE(executable, nullptr);
  ExpectSideBySide(OperandsOf(*executable, inputs, node, true), Continuous::kPadded);
}

Status FirstRun(Graph graph, const std::vector<HostTensor>& inputs) {
  const auto session = MakeSession();
  const auto id = session->Add(std::move(graph));
  if (!id.ok()) return id.error();
  return session->RunValues(*id, Values(inputs)).status();
}

TEST(GroupsTest, AnIndexGivenTwiceIsRefused) {
  Collective made = Region();
  made.graph[made.nodes[1]].memory.group.index = 2;
  const Status run = FirstRun(made.graph, {Random({5, 33}, 4)});
  EXPECT_EQ(CodeOf(run), "graph.group");
  EXPECT_NE(run.error().why.find("index 2"), std::string::npos);
}

TEST(GroupsTest, AnElementThatWouldLieAcrossItsAlignmentIsRefused) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({3}));
  const ValueId indices = builder.Node("Cast", {x}, With("to", int64_t{7}));
  const ValueId y = builder.Node("Gather", {builder.Node("Tanh", {x}), indices});
  builder.Output(builder.Node("Sin", {y}));
  Graph graph = builder.Build();
  const NodeId node = graph[y].producer;
  graph[node].memory.continuous_input = Continuous::kUnpadded;
  const HostTensor zeros = Floats({3}, {0, 1, 2});
  EXPECT_EQ(CodeOf(FirstRun(graph, {zeros})), "graph.continuous");
  graph[node].memory.continuous_input = Continuous::kPadded;
  EXPECT_EQ(CodeOf(FirstRun(graph, {zeros})), "");
}

TEST(GroupsTest, AStableGroupWhoseSizesChangeIsRefusedAndOthersStay) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({graph::Dim::Symbol("rows"), 8}));
  const ValueId held = builder.Node("Sum", {builder.Node("Tanh", {x}), builder.Node("Sin", {x})});
  builder.Output(builder.Node("Neg", {held}));
  Graph graph = builder.Build();
  graph[graph[held].producer].memory.no_address_refresh = true;
  graph[graph[held].producer].memory.continuous_input = Continuous::kUnpadded;
  const auto session = MakeSession();
  const GraphId id = MustAdd(*session, std::move(graph));
  const auto small = MustRun(*session, id, {Random({4, 8}, 1)});
  const auto other = session->RunValues(id, Values({Random({5, 8}, 1)}));
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().code, "run.stable_address");
  EXPECT_EQ(BytesOf(MustRun(*session, id, {Random({4, 8}, 1)})[0]), BytesOf(small[0]));
}

// The first place of the caller's inputs that a task writes to; views, which read and write at one
// place, write nothing.
std::optional<size_t> FirstTaskThatWritesAnInput(const Program& program) {
  const auto is_input = [](const Place& place) { return place.base == Place::Base::kInput; };
  for (size_t i = 0; i < program.tasks.size(); ++i) {
    const Task& task = program.tasks[i];
    const Place* const operands = program.operands.data() + task.first;
    if (task.kind == Task::Kind::kCopy && is_input(operands[1])) return i;
    if (task.kind != Task::Kind::kRun) continue;
    for (size_t output = 0; output < task.outputs; ++output) {
      const Place& written = operands[task.inputs + output];
      const bool view = is_input(operands[0]) && operands[0].index == written.index &&
                        operands[0].offset == written.offset;
      if (is_input(written) && !view) return i;
    }
  }
  return std::nullopt;
}

// Also where a view of an input is copied into a group, or the input for the node that makes it.
TEST(GroupsTest, AViewOfAnInputLeavesTheInputAlone) {
  for (const bool in_group : {true, false}) {
    SCOPED_TRACE(in_group ? "the view in a group" : "the input in a group");
    GraphBuilder builder;
    const ValueId x = builder.Input("x", FloatTensor({2, 4}));
    const ValueId seen = builder.Node("Reshape", {x, builder.Int64s("flat", {8})});
    const ValueId other = builder.Node("Sin", {seen});
    builder.Output(builder.Node("Neg", {builder.Node("Add", {seen, other})}));
    Graph graph = builder.Build();
    MemoryAttributes& asked = graph[graph[seen].producer].memory;
    if (in_group) {
      asked.group = {"row", 0};
      graph[graph[other].producer].memory.group = {"row", 1};
    } else {
      asked.continuous_input = Continuous::kPadded;
    }
    const auto executable = ExpectSameBytes(graph, {Random({2, 4}, 3)}, WithoutPasses());
    ASSERT_NE(executable, nullptr);
    EXPECT_EQ(FirstTaskThatWritesAnInput(executable->program()), std::nullopt);
  }
}

}  // namespace groups_test
}  // namespace plimsoll::engine
