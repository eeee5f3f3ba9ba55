#include "engine/node_by_node/kept_kernels.h"

#include <gtest/gtest.h>

#include <string>

#include "engine/session_for_tests.h"

// Graphs over texts, whose nodes run by themselves.
namespace plimsoll::engine {
namespace kept_kernels_test {

using compile::With;
using graph::DataType;
using graph::Dim;
using graph::Graph;
using graph::GraphBuilder;
using graph::Shape;
using graph::ValueId;
using graph::ValueType;
using kernels::HostTensor;
using Texts = std::vector<std::string>;

HostTensor TextTensor(kernels::Dims dims, const Texts& elements) {
  HostTensor tensor = *kernels::AllocateOnHeap(DataType::kString, dims);
  std::copy(elements.begin(), elements.end(), static_cast<std::string*>(tensor.data.get()));
  return tensor;
}

Texts TextsOf(const HostTensor& tensor) {
  const auto* const first = static_cast<const std::string*>(tensor.data.get());
  return {first, first + tensor.elements()};
}

HostTensor Sizes(const Ints& elements) {
  HostTensor tensor =
      *kernels::AllocateOnHeap(DataType::kInt64, {static_cast<int64_t>(elements.size())});
  std::memcpy(tensor.data.get(), elements.data(), elements.size() * sizeof(int64_t));
  return tensor;
}

ValueId TextInput(GraphBuilder& builder, Shape shape) {
  return builder.Input("texts", ValueType::Tensor(DataType::kString, std::move(shape)));
}

int64_t PreparedIn(const Session& session, GraphId id) {
  return session.Memory(id)->stretches.prepared_nodes;
}

TEST(KeptKernelsTest, ANodeOverTextsIsPreparedAgainForOtherSizesAlone) {
  GraphBuilder builder;
  const ValueId texts = TextInput(builder, {Dim::Symbol("n"), 2});
  const ValueId second =
      builder.Node("Gather", {texts, builder.Int64s("column", {1})}, With("axis", int64_t{1}));
  graph::Attributes labels = With("keys_strings", Texts{"a", "b"});
  labels.Set("values_int64s", Ints{10, 20});
  labels.Set("default_int64", int64_t{-1});
  builder.Output(builder.Nodes("LabelEncoder", {second}, 1, labels, "ai.onnx.ml")[0]);
  const auto session = MakeSession();
  const GraphId id = MustAdd(*session, builder.Build());
  const auto run = [&](int64_t rows, const Texts& elements) {
    return ElementsOf(MustRun(*session, id, {TextTensor({rows, 2}, elements)})[0]);
  };
  EXPECT_EQ(run(2, {"x", "a", "y", "b"}), (std::vector<float>{10, 20}));
  EXPECT_EQ(PreparedIn(*session, id), 2);
  EXPECT_EQ(run(2, {"a", "b", "b", "c"}), (std::vector<float>{20, -1})) << "other texts";
  EXPECT_EQ(PreparedIn(*session, id), 0);
  EXPECT_EQ(run(1, {"b", "a"}), std::vector<float>{10}) << "another size";
  EXPECT_EQ(PreparedIn(*session, id), 2);
  EXPECT_EQ(run(0, {}), std::vector<float>());
  EXPECT_EQ(run(2, {"b", "b", "a", "a"}), (std::vector<float>{20, 10}));
}

TEST(KeptKernelsTest, AValueThatIsAnOutputTwiceIsGivenTwiceInEveryRun) {
  GraphBuilder builder;
  const ValueId texts = TextInput(builder, {Dim::Symbol("n")});
  const ValueId same = builder.Node("Identity", {texts});
  builder.Output(same);
  builder.Output(texts);
  builder.Output(same);
  const auto session = MakeSession();
  const GraphId id = MustAdd(*session, builder.Build());
  for (const Texts& given : {Texts{"a", "b"}, Texts{"c"}}) {
    const auto made =
        MustRun(*session, id, {TextTensor({static_cast<int64_t>(given.size())}, given)});
    ASSERT_EQ(made.size(), 3U);
    for (const HostTensor& output : made) EXPECT_EQ(TextsOf(output), given);
  }
}

TEST(KeptKernelsTest, ElementsThatTheHostMustKnowAreComparedWithThoseOfTheRunBefore) {
  GraphBuilder builder;
  const ValueId texts = TextInput(builder, {6});
  const ValueId sizes = builder.Input("sizes", ValueType::Tensor(DataType::kInt64, Shape{2}));
  builder.Output(builder.Node("Reshape", {texts, sizes}));
  const auto session = MakeSession();
  const GraphId id = MustAdd(*session, builder.Build());
  const HostTensor six = TextTensor({6}, {"a", "b", "c", "d", "e", "f"});
  HostTensor sizes_given = Sizes({2, 3});
  EXPECT_EQ(MustRun(*session, id, {six, sizes_given})[0].dims, (kernels::Dims{2, 3}));
  EXPECT_EQ(MustRun(*session, id, {six, Sizes({2, 3})})[0].dims, (kernels::Dims{2, 3}));
  EXPECT_EQ(PreparedIn(*session, id), 0);
  EXPECT_EQ(MustRun(*session, id, {six, Sizes({3, 2})})[0].dims, (kernels::Dims{3, 2}));
  EXPECT_EQ(PreparedIn(*session, id), 1);
  // The caller's own tensor, with other elements by now.
  EXPECT_EQ(MustRun(*session, id, {six, sizes_given})[0].dims, (kernels::Dims{2, 3}));
  kernels::StoreInteger(DataType::kInt64, sizes_given.data.get(), 0, 6);
  kernels::StoreInteger(DataType::kInt64, sizes_given.data.get(), 1, 1);
  const HostTensor column = MustRun(*session, id, {six, sizes_given})[0];
  EXPECT_EQ(column.dims, (kernels::Dims{6, 1}));
  EXPECT_EQ(TextsOf(column), TextsOf(six));
}

TEST(KeptKernelsTest, WhatHasASizeThatOnlyDataTellsIsPreparedInEveryRun) {
  GraphBuilder builder;
  graph::Attributes stops = With("case_change_action", std::string("LOWER"));
  stops.Set("stopwords", Texts{"the", "a"});
  const ValueId kept =
      builder.Node("StringNormalizer", {TextInput(builder, {Dim::Symbol("n")})}, stops);
  builder.Output(kept);
  builder.Output(builder.Node("NonZero", {kept}));
  const auto session = MakeSession();
  const GraphId id = MustAdd(*session, builder.Build());
  const auto run = [&](const Texts& elements) {
    auto made = MustRun(*session, id, {TextTensor({3}, elements)});
    EXPECT_EQ(made[1].elements(), made[0].elements());
    return TextsOf(made[0]);
  };
  EXPECT_EQ(run({"the", "A", "ship"}), (Texts{"ship"}));
  EXPECT_EQ(run({"One", "two", "a"}), (Texts{"one", "two"}));
  EXPECT_EQ(PreparedIn(*session, id), 2);
  EXPECT_EQ(run({"x", "Y", "z"}), (Texts{"x", "y", "z"}));
}

// What only has another shape is the same memory, and what a run gives has memory of its own. In a
// first run all of these nodes run by themselves.
TEST(KeptKernelsTest, AViewTakesNoMemoryButAsAResult) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", compile::FloatTensor({4000}));
  const ValueId places = builder.Node("NonZero", {x});
  const ValueId table = builder.Node("Reshape", {places, builder.Int64s("table", {40, 100})});
  const ValueId cube = builder.Node("Unsqueeze", {table, builder.Int64s("axis", {1})});
  builder.Output(builder.Node("Gather", {cube, builder.Int64s("last", {39})}));
  builder.Output(builder.Node("Flatten", {x}, With("axis", int64_t{0})));
  const auto session = MakeSession();
  const GraphId id = MustAdd(*session, builder.Build());
  const HostTensor given = Floats({4000}, std::vector<float>(4000, 2));
  const auto made = MustRun(*session, id, {given});
  EXPECT_EQ(session->Memory(id)->stretches.single_nodes, 4) << "two views are one";
  EXPECT_EQ(made[0].dims, (kernels::Dims{1, 1, 100}));
  EXPECT_EQ(ElementsOf(made[0]).back(), 3999);
  EXPECT_EQ(ElementsOf(made[1]), ElementsOf(given));
  EXPECT_NE(made[1].data, given.data) << "the caller may change its input";
  EXPECT_LT(session->Memory().device.feature_maps, Bytes(2 * 8 * 4000)) << "places lie there once";
}

// After a run that a node refused, the next one is as any other.
TEST(KeptKernelsTest, ARunThatFailsLeavesTheKernelThatItFound) {
  GraphBuilder builder;
  const ValueId texts = TextInput(builder, {3});
  const ValueId place = builder.Input("place", ValueType::Tensor(DataType::kInt64, Shape{}));
  builder.Output(builder.Node("Gather", {texts, place}, With("axis", int64_t{0})));
  const auto session = MakeSession();
  const GraphId id = MustAdd(*session, builder.Build());
  const HostTensor three = TextTensor({3}, {"a", "b", "c"});
  EXPECT_EQ(TextsOf(MustRun(*session, id, {three, Integer(1)})[0]), Texts{"b"});
  const auto failed = session->RunValues(id, Values({three, Integer(7)}));
  EXPECT_FALSE(failed.ok());
  EXPECT_EQ(TextsOf(MustRun(*session, id, {three, Integer(2)})[0]), Texts{"c"});
  EXPECT_EQ(PreparedIn(*session, id), 0);
}

}  // namespace kept_kernels_test
}  // namespace plimsoll::engine
