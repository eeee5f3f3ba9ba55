#include <gtest/gtest.h>

#include "compile/graph_for_tests.h"
#include "compile/plan_model.h"
#include "compile/streams.h"
#include "compile/zero_copy.h"

// What nodes ask of their memory, and where the plan has it.
namespace plimsoll::compile {
namespace {

using graph::Graph;
using graph::GraphBuilder;
using graph::MemoryAttributes;
using graph::NodeId;
using graph::ValueId;

constexpr int64_t kElements = 256;
constexpr int64_t kBytes = 4 * kElements;

class MemoryWishesTest : public testing::Test {
 protected:
  ValueId Input(const std::string& name) {
    return builder_.Input(name, FloatTensor({kElements}));
  }
  ValueId Node(const std::string& op, const std::vector<ValueId>& inputs) {
    return builder_.Node(op, inputs);
  }
  // Of the node that makes the value.
  MemoryAttributes& Memory(ValueId value) {
    return builder_.graph()[builder_.graph()[value].producer].memory;
  }
  void Plan() {
    graph_ = Inferred(builder_);
    ASSERT_TRUE(SettleStreams(graph_).ok());
    options_.search_order = false;
    options_.threads = 1;
    auto planned = PlanModel(graph_, options_);
    ASSERT_TRUE(planned.ok()) << (planned.ok() ? "" : planned.error().Text());
    model_ = *std::move(planned);
  }
  std::string Refusal() {
    graph_ = Inferred(builder_);
    EXPECT_TRUE(SettleStreams(graph_).ok());
    const auto planned = PlanModel(graph_, options_);
    return planned.ok() ? "" : planned.error().code + ": " + planned.error().why;
  }

  const plan::Buffer& BufferOf(ValueId value) const {
    return model_.buffers.problem.buffer(model_.buffers.buffer_of[value.index()]);
  }
  int64_t OffsetOf(ValueId value) const {
    return (model_.plan.offsets[model_.buffers.buffer_of[value.index()].index()] +
            model_.buffers.offset_in_buffer[value.index()])
        .value();
  }
  bool IsZeroCopy(ValueId value) const { return BufferOf(value).zero_copy; }
  // What the plan notes of a value, node or group; empty: nothing.
  std::string NoteOf(const std::string& name) const {
    for (const PlannedBuffers::Note& note : model_.buffers.notes) {
      if (note.value == name) return note.text;
    }
    return "";
  }

  GraphBuilder builder_;
  Graph graph_;
  PlanOptions options_;
  PlannedModel model_;
};

TEST_F(MemoryWishesTest, ANodeThatTakesNoNewAddressesKeepsEveryInputAndOutputFromZeroCopy) {
  const ValueId a = Input("a");
  const ValueId b = Input("b");
  const ValueId c = Input("c");
  const ValueId other = Input("other");
  const ValueId sum = Node("Sum", {a, b, c});
  Memory(sum).no_address_refresh = true;
  const ValueId free = Node("Relu", {other});
  builder_.Output(sum);
  builder_.Output(free);
  Plan();
  for (const ValueId value : {a, b, c, sum}) {
    EXPECT_FALSE(IsZeroCopy(value)) << graph_[value].name;
    EXPECT_TRUE(BufferOf(value).is_fixed_addr_prior) << graph_[value].name;
    EXPECT_NE(NoteOf(graph_[value].name).find("cannot take a new address"), std::string::npos)
        << graph_[value].name;
  }
  EXPECT_NE(NoteOf("b").find("reads it"), std::string::npos);
  EXPECT_NE(NoteOf(graph_[sum].name).find("writes it"), std::string::npos);
  EXPECT_TRUE(IsZeroCopy(other));
  EXPECT_TRUE(IsZeroCopy(free));
}

TEST_F(MemoryWishesTest, AFixedAddressIsThatOfWhatANodeMakesAndNotOfWhatItReads) {
  const ValueId a = Input("a");
  const ValueId y = Node("Relu", {a});
  Memory(y).fixed_address = true;
  builder_.Output(y);
  Plan();
  EXPECT_TRUE(IsZeroCopy(a));
  EXPECT_FALSE(IsZeroCopy(y));
  EXPECT_NE(NoteOf(graph_[y].name).find("keeps the address of what it makes"), std::string::npos);
}

TEST_F(MemoryWishesTest, WhatIsTheSameMemoryByReferenceKeepsItsAddressToo) {
  const ValueId a = Input("a");
  const ValueId first = Node("Relu", {a});
  const ValueId second = Node("Tanh", {first});
  const ValueId third = Node("Neg", {second});
  Memory(second).reference_outputs = {{0, 0}};
  Memory(third).reference_outputs = {{0, 0}};
  Memory(third).fixed_address = true;
  builder_.Output(Node("Abs", {third}));
  Plan();
  for (const ValueId value : {first, second, third}) {
    EXPECT_TRUE(BufferOf(value).is_fixed_addr_prior) << graph_[value].name;
    EXPECT_EQ(OffsetOf(value), OffsetOf(third));
  }
  EXPECT_TRUE(IsZeroCopy(a));
}

TEST_F(MemoryWishesTest, AReferenceSharesItsAddressInBothDirections) {
  const ValueId a = Node("Relu", {Input("a")});
  const ValueId first = Node("Relu", {a});
  const ValueId second = Node("Tanh", {first});
  const ValueId third = Node("Neg", {second});
  const ValueId other = Node("Abs", {third});
  Memory(second).reference_outputs = {{0, 0}};
  Memory(third).reference_outputs = {{0, 0}};
  builder_.Output(other);
  graph_ = Inferred(builder_);
  for (const ValueId asks : {first, second, third}) {
    graph_[graph_[asks].producer].memory.fixed_address = true;
    const StableValues stable = FindStableValues(graph_);
    for (const ValueId value : {first, second, third}) {
      EXPECT_TRUE(stable.Contains(value)) << graph_[value].name;
      EXPECT_EQ(stable.keys[value.index()], graph_[asks].name + " output 0");
      EXPECT_EQ(stable.demanded_by[value.index()], graph_[asks].producer);
    }
    EXPECT_FALSE(stable.Contains(a));
    EXPECT_FALSE(stable.Contains(other));
    graph_[graph_[asks].producer].memory.fixed_address = false;
  }
}

TEST_F(MemoryWishesTest, OfSeveralWhoAskTheLeastNameCountsAndConstantsNeedNone) {
  const ValueId x = Input("x");
  const ValueId c = builder_.Float32s("c", {kElements}, std::vector<float>(kElements, 1));
  const ValueId shared = Node("Relu", {x});
  const ValueId b = Node("Add", {c, shared});
  const ValueId a = Node("Add", {shared, c});
  for (const ValueId value : {a, b}) {
    Memory(value).no_address_refresh = true;
    builder_.Output(value);
  }
  graph_ = Inferred(builder_);
  graph_[a].name = "a";
  graph_[b].name = "b";
  const StableValues stable = FindStableValues(graph_);
  EXPECT_EQ(stable.keys[shared.index()], "a input 0");
  EXPECT_EQ(stable.demanded_by[shared.index()], graph_[a].producer);
  EXPECT_FALSE(stable.Contains(c));
  EXPECT_FALSE(stable.Contains(x));
}

TEST_F(MemoryWishesTest, WhereTheFeatureMapMovesFixedAddressesLieBesideIt) {
  const ValueId y = Node("Relu", {Input("a")});
  Memory(y).fixed_address = true;
  const ValueId z = Node("Softmax", {Node("Softmax", {y})});
  builder_.Output(z);
  Plan();
  EXPECT_EQ(BufferOf(y).region, model_.buffers.feature_map);
  EXPECT_TRUE(model_.buffers.beside.empty());
  for (const bool refreshable : {false, true}) {
    for (const bool one_shape : {false, true}) {
      options_.lifetimes = {};
      options_.lifetimes.feature_base_refreshable = refreshable;
      options_.lifetimes.feature_map_moves = !refreshable;
      options_.lifetimes.one_shape = one_shape;
      const auto planned = PlanModel(graph_, options_);
      ASSERT_TRUE(planned.ok());
      ASSERT_EQ(planned->buffers.beside.size(), 1u);
      const PlannedBuffers::Beside& beside = planned->buffers.beside[0];
      EXPECT_EQ(planned->buffers.problem.buffer(planned->buffers.buffer_of[y.index()]).region,
                beside.region);
      EXPECT_TRUE(beside.stable);
      EXPECT_EQ(beside.grows, !one_shape);
      EXPECT_EQ(beside.key.empty(), one_shape);
    }
  }
}

TEST_F(MemoryWishesTest, MemoryOfAnotherTypeLiesInItsOwnRegion) {
  const ValueId host = Node("Relu", {Input("a")});
  const ValueId peer = Node("Tanh", {Input("b")});
  Memory(host).memory_type = MemoryAttributes::Type::kHost;
  Memory(peer).memory_type = MemoryAttributes::Type::kP2P;
  const ValueId device = Node("Softmax", {Node("Add", {host, peer})});
  builder_.Output(Node("ReduceMax", {device}));
  builder_.Output(peer);
  Plan();
  const auto type = [&](ValueId value) {
    return model_.buffers.problem.region(BufferOf(value).region).memory_type;
  };
  EXPECT_EQ(type(host), plan::MemoryType::kHost);
  EXPECT_EQ(type(peer), plan::MemoryType::kP2pDdr);
  EXPECT_EQ(type(device), plan::MemoryType::kDevice);
  EXPECT_FALSE(IsZeroCopy(peer));
  EXPECT_NE(NoteOf(graph_[peer].name).find("writes memory of another type"), std::string::npos);
}

TEST_F(MemoryWishesTest, InputsWithShapesOfManyBatchesAreCopied) {
  const ValueId a = Input("a");
  const ValueId b = Input("b");
  builder_.Output(Node("Add", {a, b}));
  builder_.graph().metadata.push_back({"plimsoll.multi_batch_shape", "b,c"});
  Plan();
  EXPECT_TRUE(IsZeroCopy(a));
  EXPECT_FALSE(IsZeroCopy(b));
  EXPECT_EQ(NoteOf("b"), "is copied: it carries multi-batch shapes");
  graph_.metadata.clear();
  options_.lifetimes.reuse.multi_batch_inputs = {0};
  const auto planned = PlanModel(graph_, options_);
  ASSERT_TRUE(planned.ok());
  const auto zero_copy = [&](ValueId value) {
    return planned->buffers.problem.buffer(planned->buffers.buffer_of[value.index()]).zero_copy;
  };
  EXPECT_FALSE(zero_copy(a));
  EXPECT_TRUE(zero_copy(b));
}

TEST_F(MemoryWishesTest, WhatIsClearedTogetherLiesInOneAreaAndElseIsReused) {
  const ValueId a = Input("a");
  const ValueId first = Node("Softmax", {a});
  const ValueId second = Node("Softmax", {first});
  Memory(first).needs_clearing = {0};
  Memory(second).needs_clearing = {0};
  builder_.Output(Node("ReduceMax", {Node("Softmax", {second})}));
  Plan();
  ASSERT_EQ(model_.plan.clearing_areas.size(), 1u);
  EXPECT_EQ(model_.plan.clearing_areas[0].size, Bytes(2 * kBytes));
  EXPECT_EQ(BufferOf(first).atomic_addr_clean_id, 0);
  options_.lifetimes.clear_together = false;
  const auto planned = PlanModel(graph_, options_);
  ASSERT_TRUE(planned.ok());
  EXPECT_TRUE(planned->plan.clearing_areas.empty());
  EXPECT_EQ(FeatureMapPeak(*planned), Bytes(2 * kBytes));
}

TEST_F(MemoryWishesTest, WhatIsTheMemoryOfAnInputCannotBeCleared) {
  const ValueId a = Node("Relu", {Input("a")});
  const ValueId y = Node("Neg", {a});
  Memory(y).reference_outputs = {{0, 0}};
  Memory(y).needs_clearing = {0};
  builder_.Output(Node("Abs", {y}));
  EXPECT_EQ(Refusal(),
            "graph.clearing: output 0 is the memory of input 0, which the node still reads");
}

TEST_F(MemoryWishesTest, NamedOperatorsShareTheirMemoryWithNobody) {
  const ValueId x = Node("Softmax", {Input("a")});
  const ValueId kept = Node("Tanh", {x});
  const ValueId last = Node("Softmax", {Node("Softmax", {kept})});
  builder_.Output(Node("ReduceMax", {last}));
  options_.lifetimes.reuse.not_of = {"Tanh", "NoSuchOperator"};
  options_.lifetimes.workspaces.assign(builder_.graph().nodes.size(), Bytes(512));
  Plan();
  EXPECT_TRUE(BufferOf(kept).exclusive);
  EXPECT_FALSE(BufferOf(last).exclusive);
  EXPECT_NE(NoteOf("NoSuchOperator").find("OP_NO_REUSE_MEM"), std::string::npos);
  for (const NodeId id : graph_.root().nodes) {
    const plan::BufferId workspace = model_.buffers.workspace_of[id.index()];
    ASSERT_TRUE(workspace.valid());
    EXPECT_EQ(model_.buffers.problem.buffer(workspace).exclusive, graph_[id].op == "Tanh");
  }
}

TEST_F(MemoryWishesTest, AWorkspaceLivesDuringItsNodesStepOfItsOwnStream) {
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
    const plan::BufferId workspace =
        model_.buffers.workspace_of[graph_[value].producer.index()];
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

TEST_F(MemoryWishesTest, OnOneStreamAWorkspaceLivesAtItsStep) {
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

TEST_F(MemoryWishesTest, ANodeWaitsForEachOfItsForeignProducers) {
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

TEST_F(MemoryWishesTest, OnStreamsALifeNamesEveryStreamThatUsesTheValue) {
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

TEST_F(MemoryWishesTest, StreamsMayBeAnyNumbersAndBodiesFollowTheirNode) {
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

TEST_F(MemoryWishesTest, TooManyStreamsAreRefusedAndTheMostAreNot) {
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

// Inputs side by side, in order.
TEST_F(MemoryWishesTest, ContinuousInputsLieSideBySideInTheirOrder) {
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

TEST_F(MemoryWishesTest, ElementsThatCannotLieWhereTheirGroupPutsThemAreRefused) {
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

TEST_F(MemoryWishesTest, AGroupsIndicesAreItsOrderAndEachIsUsedOnce) {
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

}  // namespace
}  // namespace plimsoll::compile
