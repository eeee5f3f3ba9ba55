#include "compile/memory/storage/storage_parts.h"

#include <gtest/gtest.h>

#include "compile/graph_for_tests.h"
#include "compile/passes/constants.h"

namespace plimsoll::compile {
namespace storage_parts_test {

using graph::Graph;
using graph::GraphBuilder;
using graph::ValueId;
using Ints = std::vector<int64_t>;

struct Divided {
  Storages storages;
  StorageParts parts;
};

Divided Divide(const Graph& graph) {
  Divided divided;
  divided.storages = FindStorages(graph, FindConstantValues(graph));
  divided.parts = DivideStorages(graph, divided.storages);
  return divided;
}

struct TwoAndBoth {
  ValueId first;
  ValueId second;
  ValueId both;
};

// A Concat of two tensors, and a reader of it.
TwoAndBoth ConcatOfTwo(GraphBuilder& builder) {
  const ValueId x = builder.Input("x", FloatTensor({1, 8, 64}));
  const ValueId first = builder.Node("Sigmoid", {x});
  const ValueId second = builder.Node("Tanh", {x});
  const ValueId both = builder.Node("Concat", {first, second}, With("axis", int64_t{1}));
  builder.Output(builder.Node("ReduceSum", {both}));
  return {first, second, both};
}

TEST(StoragePartsTest, OutputsOfASplitGoAloneAndComeWithItsInput) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({1, 8, 64}));
  const ValueId whole = builder.Node("Sigmoid", {x});
  const auto halves =
      builder.Nodes("Split", {whole, builder.Int64s("sizes", {3, 5})}, 2, With("axis", int64_t{1}));
  builder.Output(builder.Node("ReduceSum", {halves[0]}));
  builder.Output(builder.Node("ReduceSum", {halves[1]}));
  const Graph graph = Inferred(builder);
  const Divided divided = Divide(graph);
  EXPECT_EQ(divided.parts.count, 2);
  const StorageParts::Row* all = divided.parts.Of(whole.index());
  ASSERT_NE(all, nullptr);
  EXPECT_EQ(all->covered.size(), 2u);
  ASSERT_EQ(all->brought.size(), 2u);
  EXPECT_EQ(all->brought[0].bytes + all->brought[1].bytes, Bytes(8 * 64 * 4));
  const StorageParts::Row* first = divided.parts.Of(halves[0].index());
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(first->covered.size(), 1u);
  EXPECT_TRUE(first->brought.empty());
}

TEST(StoragePartsTest, InputsThatOnlyTheConcatReadsGoTogether) {
  GraphBuilder builder;
  const auto [a, b, joined] = ConcatOfTwo(builder);
  const Graph graph = Inferred(builder);
  const Divided divided = Divide(graph);
  EXPECT_EQ(divided.storages.places[a.index()].storage, divided.storages.places[b.index()].storage);
  EXPECT_EQ(divided.parts.count, 0);
}

TEST(StoragePartsTest, AnInputOfAConcatThatAnotherReadsGoesAlone) {
  GraphBuilder builder;
  const auto [a, b, joined] = ConcatOfTwo(builder);
  builder.Output(builder.Node("ReduceMax", {a}));
  const Graph graph = Inferred(builder);
  const Divided divided = Divide(graph);
  EXPECT_EQ(divided.parts.count, 2);
  const StorageParts::Row* both = divided.parts.Of(joined.index());
  const StorageParts::Row* first = divided.parts.Of(a.index());
  ASSERT_TRUE(both != nullptr && first != nullptr);
  EXPECT_EQ(both->covered.size(), 2u);
  EXPECT_TRUE(both->brought.empty());
  EXPECT_EQ(first->brought.size(), 1u);
}

TEST(StoragePartsTest, TheBeginningOfALaterConcatIsTheEarlierOne) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({1, 8, 64}));
  const ValueId a = builder.Node("Sigmoid", {x});
  const ValueId b = builder.Node("Tanh", {a});
  const ValueId first = builder.Node("Concat", {a, b}, With("axis", int64_t{1}));
  const ValueId c = builder.Node("ReduceMax", {first}, With("axes", Ints{1}));
  const ValueId second = builder.Node("Concat", {a, b, c}, With("axis", int64_t{1}));
  builder.Output(builder.Node("ReduceSum", {second}));
  const Graph graph = Inferred(builder);
  const Storages storages = FindStorages(graph, FindConstantValues(graph));
  for (const ValueId value : {a, b, first, c}) {
    EXPECT_EQ(storages.places[value.index()].storage, storages.places[second.index()].storage);
  }
  EXPECT_EQ(storages.places[first.index()].offset, Bytes(0));
  EXPECT_EQ(storages.fresh[second.index()], Bytes(0));
}

}  // namespace storage_parts_test
}  // namespace plimsoll::compile
