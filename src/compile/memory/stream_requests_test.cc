#include "compile/memory/memory_requests_for_tests.h"

// Nodes that ask for streams, for neighbours in memory, and for workspaces on several streams.
namespace plimsoll::compile {
namespace stream_requests_test {

using graph::Graph;
using graph::GraphBuilder;
using graph::MemoryAttributes;
using graph::NodeId;
using graph::ValueId;

TEST_F(MemoryRequestsTest, AWorkspaceLivesDuringItsNodesStepOfItsOwnStream) {
  const ValueId a = Node("Softmax", {Input("a")});
  const ValueId b = Node("Softmax", {a});
  const ValueId other = Node("Exp", {Input("b")});
  const ValueId more = Node("Sin", {other});
  const ValueId both = Node("Add", {b, more});
  for (const ValueId value : {other, more}) Memory(value).stream = 1;
  builder_.Output(both);
  options_.lifetimes.workspaces.assign(builder_.graph().nodes.size(), Bytes(768));
  Plan();
  const auto life = [&](ValueId value) {
    const plan::BufferId workspace = model_.buffers.workspace_of[graph_[value].producer.index()];
    EXPECT_TRUE(workspace.valid());
    return model_.buffers.problem.buffer(workspace).life;
  };
  const auto use = [](size_t stream, int64_t step) {
    return plan::Use{plan::StreamId(stream), step, step + 1};
  };
  EXPECT_EQ(life(a), use(0, 0));
  EXPECT_EQ(life(b), use(0, 1));
  EXPECT_EQ(life(other), use(1, 0)) << "the first step of its stream, the third of the run";
  EXPECT_EQ(life(more), use(1, 1));
  EXPECT_EQ(life(both), use(0, 2));
}

TEST_F(MemoryRequestsTest, OnOneStreamAWorkspaceLivesAtItsStep) {
  const ValueId a = Node("Softmax", {Input("a")});
  const ValueId b = Node("Softmax", {a});
  builder_.Output(Node("ReduceMax", {b}));
  options_.lifetimes.workspaces = {Bytes(0), Bytes(100), Bytes(0)};
  Plan();
  EXPECT_FALSE(model_.buffers.workspace_of[graph_[a].producer.index()].valid());
  const plan::BufferId workspace = model_.buffers.workspace_of[graph_[b].producer.index()];
  ASSERT_TRUE(workspace.valid());
  const plan::Buffer& row = model_.buffers.problem.buffer(workspace);
  EXPECT_EQ(row.size, Bytes(100));
  EXPECT_EQ(row.life, (plan::Use{plan::StreamId(0), 1, 2}));
}

TEST_F(MemoryRequestsTest, ANodeWaitsForEachOfItsForeignProducers) {
  const ValueId x = Input("x");
  const ValueId early = Node("Exp", {x});
  const ValueId late = Node("Sin", {early});
  const ValueId other = Node("Cos", {x});
  Memory(other).stream = 1;
  const ValueId y = Node("Sum", {early, late, other});
  Memory(y).stream = 2;
  builder_.Output(y);
  Plan();
  ASSERT_EQ(model_.timeline.waits.size(), 2u);
  const auto op = [&](int64_t step) {
    return graph_[model_.timeline.steps[static_cast<size_t>(step)].node].op;
  };
  EXPECT_EQ(op(model_.timeline.waits[0].before), "Cos");
  EXPECT_EQ(op(model_.timeline.waits[1].before), "Sin") << "the later of the two on one stream";
  ASSERT_EQ(model_.buffers.problem.synchronisations.size(), 2u);
  const plan::Synchronisation& wait = model_.buffers.problem.synchronisations[1];
  EXPECT_EQ(wait.from, plan::StreamId(0));
  EXPECT_EQ(wait.from_step, 1);
  EXPECT_EQ(wait.to, plan::StreamId(2));
  EXPECT_EQ(wait.to_step, 0);
}

TEST_F(MemoryRequestsTest, OnStreamsALifeNamesEveryStreamThatUsesTheValue) {
  const ValueId x = Node("Softmax", {Input("x")});
  const ValueId mine = Node("Exp", {x});
  const ValueId theirs = Node("Sin", {x});
  Memory(theirs).stream = 1;
  builder_.Output(Node("Add", {mine, theirs}));
  options_.in_place = false;
  Plan();
  const plan::Buffer& buffer = BufferOf(x);
  EXPECT_EQ(buffer.life, (plan::Use{plan::StreamId(0), 0, 2}));
  ASSERT_EQ(buffer.elsewhere.size(), 1u);
  EXPECT_EQ(buffer.elsewhere[0], (plan::Use{plan::StreamId(1), 0, 1}));
}

TEST_F(MemoryRequestsTest, StreamsMayBeAnyNumbersAndBodiesFollowTheirNode) {
  const ValueId a = Node("Relu", {Input("a")});
  const ValueId b = Node("Tanh", {a});
  Memory(a).stream = 7;
  Memory(b).stream = 3;
  builder_.Output(b);
  Graph graph = Inferred(builder_);
  ASSERT_TRUE(SettleStreams(graph).ok());
  EXPECT_EQ(graph[graph[a].producer].memory.stream, 1);
  EXPECT_EQ(graph[graph[b].producer].memory.stream, 0);
}

TEST_F(MemoryRequestsTest, TooManyStreamsAreRefusedAndTheMostAreNot) {
  for (const size_t streams : {kMostStreams, kMostStreams + 1}) {
    GraphBuilder builder;
    const ValueId x = builder.Input("x", FloatTensor({4}));
    for (size_t i = 0; i < streams; ++i) {
      const ValueId y = builder.Node("Relu", {x});
      builder.graph()[builder.graph()[y].producer].memory.stream = static_cast<int>(i);
      builder.Output(y);
    }
    Graph graph = Inferred(builder);
    const Status settled = SettleStreams(graph);
    EXPECT_EQ(settled.ok() ? "" : settled.error().code,
              streams == kMostStreams ? "" : "graph.stream");
  }
}

TEST_F(MemoryRequestsTest, ContinuousInputsLieSideBySideInTheirOrder) {
  const ValueId a = Node("Softmax", {Input("a")});
  const ValueId b = Node("Softmax", {Input("b")});
  const ValueId given = Input("given");
  const ValueId y = Node("Sum", {b, a});
  Memory(y).continuous_input = MemoryAttributes::Continuous::kUnpadded;
  const ValueId z = Node("Sum", {given, y});
  Memory(z).continuous_input = MemoryAttributes::Continuous::kPadded;
  builder_.Output(z);
  Plan();
  EXPECT_EQ(OffsetOf(a), OffsetOf(b) + kBytes);
  EXPECT_TRUE(std::none_of(model_.buffers.group_copies.begin(), model_.buffers.group_copies.end(),
                           [&](const auto& copy) { return copy.node == graph_[y].producer; }));
  // What the caller hands over lies where the caller has it.
  ASSERT_EQ(model_.buffers.group_copies.size(), 1u);
  EXPECT_EQ(model_.buffers.group_copies[0].node, graph_[z].producer);
  EXPECT_TRUE(model_.buffers.group_copies[0].input);
  EXPECT_EQ(model_.buffers.group_copies[0].index, 0u);
  EXPECT_TRUE(NoteOf(graph_[given].name).empty());
}

TEST_F(MemoryRequestsTest, ElementsThatCannotLieWhereTheirGroupPutsThemAreRefused) {
  const ValueId a = builder_.Node("Relu", {builder_.Input("a", FloatTensor({3}))});
  const ValueId wide =
      builder_.Node("Cast", {builder_.Node("Relu", {builder_.Input("b", FloatTensor({4}))})},
                    With("to", int64_t{11}));
  const ValueId a_wide = builder_.Node("Cast", {a}, With("to", int64_t{1}));
  const auto made = builder_.Nodes("Concatenate", {a_wide, wide}, 1, {}, "somebody.else");
  Memory(made[0]).continuous_input = MemoryAttributes::Continuous::kUnpadded;
  builder_.Output(made[0]);
  EXPECT_NE(Refusal().find("would start at byte 12, and its elements of 8 bytes"),
            std::string::npos)
      << Refusal();
}

TEST_F(MemoryRequestsTest, AGroupOfTwoBatchesIsRefused) {
  const ValueId a = Node("Softmax", {Input("a")});
  const ValueId b = Node("Softmax", {Input("b")});
  Memory(a).group = {"g", 0};
  Memory(b).group = {"g", 1};
  Memory(a).batch_label = Memory(b).batch_label = "small";
  builder_.Output(Node("ReduceMax", {a}));
  builder_.Output(Node("ReduceMax", {b}));
  graph_ = Inferred(builder_);
  EXPECT_TRUE(PlanModel(graph_, options_).ok());
  graph_[graph_[b].producer].memory.batch_label = "large";
  const auto refused = PlanModel(graph_, options_);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, "graph.group");
  EXPECT_NE(refused.error().why.find("belongs to batch 'large' and others to 'small'"),
            std::string::npos)
      << refused.error().why;
}

TEST_F(MemoryRequestsTest, OutputsLieInAGroupOrSideBySideAndNotBoth) {
  const ValueId x = Input("x");
  const auto halves = builder_.Nodes("Split", {x}, 2, With("num_outputs", int64_t{2}));
  Memory(halves[0]).group = {"g", 0};
  Memory(halves[0]).continuous_output = MemoryAttributes::Continuous::kPadded;
  for (const ValueId half : halves) builder_.Output(Node("ReduceMax", {half}));
  EXPECT_NE(Refusal().find("graph.group: its outputs are to lie side by side"), std::string::npos);
}

TEST_F(MemoryRequestsTest, ANodeThatItsBodiesRunCannotAskForNeighbours) {
  const ValueId c =
      builder_.Input("c", graph::ValueType::Tensor(graph::DataType::kBool, graph::Shape{}));
  const ValueId x = Input("x");
  graph::Attributes attributes;
  for (const char* branch : {"then_branch", "else_branch"}) {
    const graph::SubgraphId body = builder_.BeginBody(branch);
    builder_.EndBody({Node("Sin", {x})});
    attributes.Set(branch, body);
  }
  const ValueId y = builder_.Node("If", {c}, attributes);
  builder_.Output(Node("ReduceMax", {y}));
  Graph graph = Inferred(builder_);
  EXPECT_TRUE(PlanModel(graph, options_).ok());
  for (const int request : {0, 1, 2}) {
    MemoryAttributes& memory = graph[graph[y].producer].memory;
    memory = {};
    if (request == 0) memory.continuous_input = MemoryAttributes::Continuous::kPadded;
    if (request == 1) memory.continuous_output = MemoryAttributes::Continuous::kPadded;
    if (request == 2) memory.group = {"g", 0};
    const auto refused = PlanModel(graph, options_);
    ASSERT_FALSE(refused.ok()) << request;
    EXPECT_EQ(refused.error().code, "graph.continuous") << request;
  }
}

TEST_F(MemoryRequestsTest, AGroupsIndicesAreItsOrderAndEachIsUsedOnce) {
  const ValueId x = Input("x");
  const ValueId a = Node("Softmax", {x});
  const ValueId b = Node("Softmax", {Input("y")});
  const ValueId c = Node("Softmax", {Input("z")});
  Memory(a).group = {"g", 2};
  Memory(b).group = {"g", 0};
  Memory(c).group = {"g", 1};
  const ValueId early = Node("ReduceMax", {b});
  builder_.Output(early);
  builder_.Output(Node("ReduceMax", {Node("Sum", {a, c})}));
  Plan();
  EXPECT_EQ(OffsetOf(c), OffsetOf(b) + kBytes);
  EXPECT_EQ(OffsetOf(a), OffsetOf(c) + kBytes);
  EXPECT_EQ(BufferOf(b).life.end, BufferOf(a).life.end)
      << "each is held until the last of them was read";
  graph_[graph_[c].producer].memory.group.index = 0;
  const auto refused = PlanModel(graph_, options_);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, "graph.group");
}

}  // namespace stream_requests_test
}  // namespace plimsoll::compile
