#include <gtest/gtest.h>

#include "engine/node_by_node/control_flow.h"
#include "engine/node_by_node/host_tensors.h"
#include "engine/session_for_tests.h"

// Loops over what does not fit, over texts, over nothing, and scans of the first version.
namespace plimsoll::engine {
namespace control_flow_faults_test {

using compile::FloatTensor;
using compile::With;
using graph::Attributes;
using graph::DataType;
using graph::Dim;
using graph::Graph;
using graph::GraphBuilder;
using graph::Shape;
using graph::SubgraphId;
using graph::ValueId;
using graph::ValueType;
using kernels::HostTensor;
using kernels::HostValue;

using Elements = std::vector<float>;

HostTensor Texts(kernels::Dims dims, const std::vector<std::string>& texts) {
  HostTensor tensor = *kernels::AllocateOnHeap(DataType::kString, std::move(dims));
  std::copy(texts.begin(), texts.end(), static_cast<std::string*>(tensor.data.get()));
  return tensor;
}

std::vector<std::string> TextsOf(const HostTensor& tensor) {
  const auto* const first = static_cast<const std::string*>(tensor.data.get());
  return {first, first + tensor.elements()};
}

// Collects the first `trip + 1` elements of x, or its slices as they are.
Graph Collecting(const ValueType& slice, bool growing) {
  GraphBuilder builder;
  const ValueId trips = builder.Input("trips", ValueType::Tensor(DataType::kInt64, std::nullopt));
  const ValueId x = builder.Input("x", slice);
  const SubgraphId body = builder.BeginBody("body");
  const ValueId trip = builder.BodyInput("trip", ValueType::Tensor(DataType::kInt64, Shape{}));
  const ValueId goes_on = builder.BodyInput("goes_on", ValueType::Tensor(DataType::kBool, Shape{}));
  ValueId made = x;
  if (growing) {
    const ValueId end = builder.Node(
        "Reshape",
        {builder.Node("Add", {trip, builder.Int64("one", 1)}), builder.Int64s("s", {1})});
    made = builder.Node("Slice", {x, builder.Int64s("from", {0}), end});
  }
  builder.EndBody({builder.Node("Identity", {goes_on}), builder.Node("Identity", {made})});
  builder.Output(builder.Node("Loop", {trips, ValueId()}, With("body", body)));
  return builder.Build();
}

TEST(ControlFlowFaultsTest, SlicesOfDifferentSizesCannotBeCollected) {
  const auto session = MakeSession();
  const GraphId id = MustAdd(*session, Collecting(FloatTensor({4}), true));
  const HostTensor x = Floats({4}, {1, 2, 3, 4});
  const Status refused = session->RunValues(id, Values({Integer(3), x})).status();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, "run.slices");
  EXPECT_EQ(refused.error().where, "iteration 1");
  EXPECT_EQ(refused.error().why, "its slice is float32[2], the first one was float32[1]");
  const auto one = MustRun(*session, id, {Integer(1), x});
  ASSERT_EQ(one.size(), 1U);
  EXPECT_EQ(one[0].dims, (kernels::Dims{1, 1}));
}

TEST(ControlFlowFaultsTest, TextsAreCollectedAsTheyAre) {
  const auto session = MakeSession();
  const GraphId id =
      MustAdd(*session, Collecting(ValueType::Tensor(DataType::kString, Shape{2}), false));
  const auto made =
      MustRun(*session, id, {Integer(2), Texts({2}, {"a", "a longer text than most"})});
  ASSERT_EQ(made.size(), 1U);
  EXPECT_EQ(made[0].dims, (kernels::Dims{2, 2}));
  EXPECT_EQ(TextsOf(made[0]), (std::vector<std::string>{"a", "a longer text than most", "a",
                                                        "a longer text than most"}));
}

TEST(ControlFlowFaultsTest, ACountThatIsNoScalarIsRefused) {
  const auto session = MakeSession();
  const GraphId id = MustAdd(*session, Collecting(FloatTensor({4}), false));
  const HostTensor x = Floats({4}, {1, 2, 3, 4});
  HostTensor two = *kernels::AllocateOnHeap(DataType::kInt64, {2});
  for (const int64_t i : {0, 1}) kernels::StoreInteger(two.type, two.data.get(), i, 1);
  const Status refused = session->RunValues(id, Values({two, x})).status();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, "kernel.input");
  EXPECT_NE(refused.error().why.find("input 0 is int64[2], not a scalar"), std::string::npos)
      << refused.error().why;
  EXPECT_EQ(MustRun(*session, id, {Integer(2), x})[0].dims, (kernels::Dims{2, 4}));
}

// Slices along each axis of a tensor come back where they were.
TEST(ControlFlowFaultsTest, SlicesAndStacksUndoEachOtherAlongEveryAxis) {
  const HostTensor x = Random({2, 3, 4}, 1);
  const HostTensor words = Texts({2, 3}, {"a", "b", "c", "d", "e", "f"});
  for (const int64_t axis : {0, 1, 2}) {
    std::vector<HostTensor> slices;
    for (int64_t i = 0; i < x.dims[static_cast<size_t>(axis)]; ++i) {
      const auto slice = TakeSlice(x, axis, i, kernels::AllocateOnHeap);
      ASSERT_TRUE(slice.ok());
      slices.push_back(*slice);
    }
    EXPECT_EQ(slices[0].dims.size(), 2U);
    const auto whole = Stack(slices, axis, kernels::AllocateOnHeap);
    ASSERT_TRUE(whole.ok());
    EXPECT_EQ(whole->dims, x.dims);
    EXPECT_EQ(ElementsOf(*whole), ElementsOf(x)) << "axis " << axis;
  }
  const auto column = TakeSlice(words, 1, 2, kernels::AllocateOnHeap);
  ASSERT_TRUE(column.ok());
  EXPECT_EQ(TextsOf(*column), (std::vector<std::string>{"c", "f"}));
}

TEST(ControlFlowFaultsTest, ElementsThatShareBytesCannotBeSliced) {
  const HostTensor small = *kernels::AllocateOnHeap(DataType::kInt4, {2, 4});
  const auto slice = TakeSlice(small, 0, 1, kernels::AllocateOnHeap);
  ASSERT_FALSE(slice.ok());
  EXPECT_EQ(slice.error().code, "run.slices");
  EXPECT_EQ(slice.error().kind, ErrorKind::kUnsupported);
  EXPECT_FALSE(Stack({small, small}, 0, kernels::AllocateOnHeap).ok());
}

TEST(ControlFlowFaultsTest, ValuesTellTheirTypes) {
  EXPECT_EQ(Text(TypeOf(HostValue::Of(Floats({2}, {1, 2})))), "float32[2]");
  EXPECT_EQ(TypeOf(HostValue::Sequence(Values({Floats({2}, {1, 2})}))),
            ValueType::Sequence(FloatTensor({2})));
  HostValue optional;
  optional.kind = HostValue::Kind::kOptional;
  EXPECT_EQ(TypeOf(optional), ValueType::Optional(ValueType()));
  optional.elements = Values({Floats({1}, {1})});
  EXPECT_EQ(TypeOf(optional), ValueType::Optional(FloatTensor({1})));
  EXPECT_EQ(TypeOf(HostValue()).kind, ValueType::Kind::kUnknown);
}

// A scan of version 8 over a batch: running sums of each item's rows.
Graph BatchScan(bool with_lengths) {
  GraphBuilder builder(8);
  const ValueId lengths =
      with_lengths ? builder.Input("lengths", ValueType::Tensor(DataType::kInt64, Shape{2}))
                   : ValueId();
  const ValueId start = builder.Input("start", FloatTensor({Dim::Symbol("b"), 2}));
  const ValueId rows = builder.Input("rows", FloatTensor({Dim::Symbol("b"), Dim::Symbol("s"), 2}));
  const SubgraphId body = builder.BeginBody("body");
  const ValueId sum = builder.BodyInput("sum", FloatTensor({2}));
  const ValueId row = builder.BodyInput("row", FloatTensor({2}));
  const ValueId next = builder.Node("Add", {sum, row});
  builder.EndBody({next, builder.Node("Identity", {next})});
  Attributes attributes = With("body", body);
  attributes.Set("num_scan_inputs", int64_t{1});
  for (const ValueId output :
       builder.Nodes("Scan", {lengths, start, rows}, 2, std::move(attributes))) {
    builder.Output(output);
  }
  return builder.Build();
}

TEST(ControlFlowFaultsTest, AScanOfVersion8WalksEachItemOfItsBatch) {
  const auto session = MakeSession();
  const GraphId id = MustAdd(*session, BatchScan(false));
  const auto made = MustRun(
      *session, id,
      {Floats({2, 2}, {0, 0, 100, 200}), Floats({2, 3, 2}, {1, 2, 3, 4, 5, 6, 1, 1, 1, 1, 1, 1})});
  ASSERT_EQ(made.size(), 2U);
  EXPECT_EQ(made[0].dims, (kernels::Dims{2, 2}));
  EXPECT_EQ(ElementsOf(made[0]), (Elements{9, 12, 103, 203}));
  EXPECT_EQ(made[1].dims, (kernels::Dims{2, 3, 2}));
  EXPECT_EQ(ElementsOf(made[1]), (Elements{1, 2, 4, 6, 9, 12, 101, 201, 102, 202, 103, 203}));
}

TEST(ControlFlowFaultsTest, LengthsOfSequencesAreNotServed) {
  const auto session = MakeSession();
  const GraphId id = MustAdd(*session, BatchScan(true));
  HostTensor lengths = *kernels::AllocateOnHeap(DataType::kInt64, {2});
  for (const int64_t i : {0, 1}) kernels::StoreInteger(lengths.type, lengths.data.get(), i, 1);
  const Status refused =
      session->RunValues(id, Values({lengths, Random({2, 2}, 1), Random({2, 3, 2}, 1)})).status();
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().why.find("sequence_lens"), std::string::npos) << refused.error().Text();
}

TEST(ControlFlowFaultsTest, SequencesThatAreWalkedTogetherAreOfOneLength) {
  GraphBuilder builder;
  const ValueType element = FloatTensor({1});
  const ValueId a = builder.Input("a", ValueType::Sequence(element));
  const ValueId b = builder.Input("b", ValueType::Sequence(element));
  const SubgraphId body = builder.BeginBody("body");
  const ValueId one = builder.BodyInput("one", element);
  const ValueId other = builder.BodyInput("other", element);
  builder.EndBody({builder.Node("Sub", {one, other})});
  builder.Output(builder.Node("SequenceMap", {a, b}, With("body", body)));
  const auto session = MakeSession();
  const GraphId id = MustAdd(*session, builder.Build());
  const HostValue two = HostValue::Sequence(Values({Floats({1}, {5}), Floats({1}, {7})}));
  const HostValue single = HostValue::Sequence(Values({Floats({1}, {1})}));
  const Status refused = session->RunValues(id, {two, single}).status();
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().why.find("its sequences have 2 and 1 elements"), std::string::npos)
      << refused.error().why;
  const auto made = MustRunValues(*session, id, {two, two});
  ASSERT_EQ(made.size(), 1U);
  ASSERT_EQ(made[0].elements.size(), 2U);
  EXPECT_EQ(ElementsOf(made[0].elements[1].tensor), Elements{0});
}

}  // namespace control_flow_faults_test
}  // namespace plimsoll::engine
