#include "compile/memory/memory_requests_for_tests.h"
#include "compile/passes/overwrite_order.h"
#include "compile/passes/stable_values.h"

// What nodes ask of their memory, and where the plan has it.
namespace plimsoll::compile {
namespace memory_requests_test {

using graph::MemoryAttributes;
using graph::NodeId;
using graph::ValueId;

TEST_F(MemoryRequestsTest, ANodeThatTakesNoNewAddressesKeepsEveryInputAndOutputFromZeroCopy) {
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

TEST_F(MemoryRequestsTest, AFixedAddressIsThatOfWhatANodeMakesAndNotOfWhatItReads) {
  const ValueId a = Input("a");
  const ValueId y = Node("Relu", {a});
  Memory(y).fixed_address = true;
  builder_.Output(y);
  Plan();
  EXPECT_TRUE(IsZeroCopy(a));
  EXPECT_FALSE(IsZeroCopy(y));
  EXPECT_NE(NoteOf(graph_[y].name).find("keeps the address of what it makes"), std::string::npos);
}

TEST_F(MemoryRequestsTest, WhatIsTheSameMemoryByReferenceKeepsItsAddressToo) {
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

TEST_F(MemoryRequestsTest, AReferenceSharesItsAddressInBothDirections) {
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

// Others read the same bytes, and a view is theirs only as long as nobody writes there.
TEST_F(MemoryRequestsTest, WhatIsOverwrittenByReferenceIsNoViewAndHasNone) {
  const ValueId input = Input("input");
  const ValueId view_of_input = Node("Identity", {input});
  const ValueId over_input = Node("Relu", {view_of_input});
  const ValueId made = Node("Tanh", {input});
  const ValueId view = Node("Identity", {made});
  const ValueId over_view = Node("Neg", {view});
  const ValueId viewed = Node("Sin", {made});
  const ValueId view_of_viewed = Node("Identity", {viewed});
  const ValueId over_viewed = Node("Cos", {viewed});
  const ValueId joined = Node("Abs", {made});
  const ValueId whole = builder_.Node("Concat", {joined, made}, With("axis", int64_t{0}));
  const ValueId over_joined = Node("Exp", {joined});
  for (const ValueId over : {over_input, over_view, over_viewed, over_joined}) {
    Memory(over).reference_outputs = {{0, 0}};
  }
  const ValueId untouched = Node("Identity", {made});
  const ValueId all[] = {input,          over_input,  made,  over_view,  untouched,
                         view_of_viewed, over_viewed, whole, over_joined};
  for (const ValueId value : all) builder_.Output(Node("ReduceMax", {value}));
  Plan();
  const auto buffer = [&](ValueId value) { return model_.buffers.buffer_of[value.index()]; };
  EXPECT_NE(buffer(view_of_input), buffer(input));
  EXPECT_NE(buffer(view), buffer(made));
  EXPECT_NE(buffer(view_of_viewed), buffer(viewed));
  EXPECT_NE(buffer(joined), buffer(whole));
  EXPECT_EQ(buffer(over_input), buffer(view_of_input));
  EXPECT_EQ(buffer(over_view), buffer(view));
  EXPECT_EQ(buffer(over_viewed), buffer(viewed));
  EXPECT_EQ(buffer(over_joined), buffer(joined));
  EXPECT_EQ(buffer(untouched), buffer(made));
}

// A pass moved the reader's work behind the node that overwrites what it reads.
TEST_F(MemoryRequestsTest, WhoOverwritesRunsAfterReadersThatDoNotNeedIt) {
  const ValueId made = Node("Tanh", {Input("a")});
  const ValueId over = Node("Exp", {made});
  Memory(over).reference_outputs = {{0, 0}};
  const ValueId needs = Node("Abs", {over});
  const ValueId other = Node("Relu", {Input("b")});
  const ValueId reads = Node("Neg", {made});
  const ValueId both = Node("Add", {made, needs});
  for (const ValueId value : {needs, other, reads, both}) builder_.Output(value);
  graph_ = Inferred(builder_);
  EXPECT_EQ(OperatorsOf(graph_), "Tanh Exp Abs Relu Neg Add");
  OverwriteAfterReaders(graph_);
  EXPECT_EQ(OperatorsOf(graph_), "Tanh Relu Neg Exp Abs Add");
  OverwriteAfterReaders(graph_);
  EXPECT_EQ(OperatorsOf(graph_), "Tanh Relu Neg Exp Abs Add");
}

TEST_F(MemoryRequestsTest, OfSeveralWhoAskTheLeastNameCountsAndConstantsNeedNone) {
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

TEST_F(MemoryRequestsTest, WhereTheFeatureMapMovesFixedAddressesLieOutsideIt) {
  const ValueId y = Node("Relu", {Input("a")});
  Memory(y).fixed_address = true;
  const ValueId z = Node("Softmax", {Node("Softmax", {y})});
  builder_.Output(z);
  Plan();
  EXPECT_EQ(BufferOf(y).region, model_.buffers.feature_map);
  EXPECT_TRUE(model_.buffers.separate_regions.empty());
  for (const bool refreshable : {false, true}) {
    for (const bool one_shape : {false, true}) {
      options_.lifetimes = {};
      options_.lifetimes.feature_base_refreshable = refreshable;
      options_.lifetimes.feature_map_moves = !refreshable;
      options_.lifetimes.one_shape = one_shape;
      const auto planned = PlanModel(graph_, options_);
      ASSERT_TRUE(planned.ok());
      ASSERT_EQ(planned->buffers.separate_regions.size(), 1u);
      const PlannedBuffers::SeparateRegion& separate = planned->buffers.separate_regions[0];
      EXPECT_EQ(planned->buffers.problem.buffer(planned->buffers.buffer_of[y.index()]).region,
                separate.region);
      EXPECT_TRUE(separate.stable);
      EXPECT_EQ(separate.grows, !one_shape);
      EXPECT_EQ(separate.key.empty(), one_shape);
    }
  }
}

TEST_F(MemoryRequestsTest, MemoryOfAnotherTypeLiesInItsOwnRegion) {
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

TEST_F(MemoryRequestsTest, InputsWithShapesOfManyBatchesAreCopied) {
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

TEST_F(MemoryRequestsTest, WhatIsClearedTogetherLiesInOneAreaAndElseIsReused) {
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

TEST_F(MemoryRequestsTest, WhatIsTheMemoryOfAnInputCannotBeCleared) {
  const ValueId a = Node("Relu", {Input("a")});
  const ValueId y = Node("Neg", {a});
  Memory(y).reference_outputs = {{0, 0}};
  Memory(y).needs_clearing = {0};
  builder_.Output(Node("Abs", {y}));
  EXPECT_EQ(Refusal(),
            "graph.clearing: output 0 is the memory of input 0, which the node still reads");
}

TEST_F(MemoryRequestsTest, NamedOperatorsShareTheirMemoryWithNobody) {
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

// Inputs side by side, in order.
}  // namespace memory_requests_test
}  // namespace plimsoll::compile
