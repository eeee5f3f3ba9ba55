#include "compile/passes/slices/sum_regions.h"

#include <algorithm>

#include "compile/passes/compact.h"
#include "compile/passes/pass_results_for_tests.h"

namespace plimsoll::compile {
namespace sum_regions_test {

using graph::Attributes;
using graph::Graph;
using graph::GraphBuilder;
using graph::Node;
using graph::ValueId;

const std::string kProduct = "plimsoll::FusedMatMul";

ValueId Fused(GraphBuilder& b, std::vector<ValueId> inputs, const std::string& activation = "") {
  Attributes attributes = With("transB", int64_t{0});
  attributes.Set("alpha", 0.25);
  attributes.Set("activation", activation);
  return b.Nodes("FusedMatMul", std::move(inputs), 1, attributes, "plimsoll")[0];
}

// What is left where regions around `seed` are cut; numbers are the same.
std::string CutInto(GraphBuilder& builder, ValueId seed, const SumSlices& sizes, int times = 1) {
  const Graph before = Inferred(builder);
  Graph after = before;
  int regions = 0;
  for (int i = 0; i < times; ++i) {
    std::vector<ValueId> seeds = {seed};
    if (i > 0) {
      for (size_t v = 0; v < after.values.size(); ++v) seeds.emplace_back(v);
    }
    regions += SliceSums(after, seeds, sizes);
    after = Compact(after);
    EXPECT_TRUE(InferShapes(after).ok());
  }
  if (regions == 0) return "";
  ExpectSameResults(before, after, 1e-5);
  return OperatorsOf(after);
}

// x [5, 8] -> up -> `between` -> down + x.
template <typename Between>
std::string CutProducts(const Between& between, const SumSlices& sizes = {}, int times = 1) {
  GraphBuilder b;
  const ValueId x = b.Input("x", FloatTensor({5, 8}));
  const ValueId wide = Fused(b, {x, Weights(b, "up", {8, 64}), Weights(b, "b", {64})}, "Relu");
  const ValueId y =
      Fused(b, {between(b, wide), Weights(b, "down", {64, 8}), Weights(b, "c", {8}), x}, "Tanh");
  b.Output(b.Node("Neg", {y}));
  return CutInto(b, wide, sizes, times);
}

ValueId Itself(GraphBuilder&, ValueId wide) { return wide; }

TEST(SumRegionsTest, ChannelsBetweenProductsComeSliceBySlice) {
  const std::string pair = kProduct + " " + kProduct + " ";
  EXPECT_EQ(CutProducts(Itself), pair + pair + "Neg");
  EXPECT_EQ(CutProducts(Itself, {.slices = 3}), pair + pair + pair + "Neg");
  EXPECT_EQ(CutProducts(Itself, {}, 2), pair + pair + pair + pair + "Neg") << "slices of slices";
}

TEST(SumRegionsTest, SlicesAreNotSmallerThanAskedFor) {
  EXPECT_NE(CutProducts(Itself, {.least_channels = 32}), "");
  EXPECT_EQ(CutProducts(Itself, {.least_channels = 33}), "");
  EXPECT_EQ(CutProducts(Itself, {.slices = 5}), "") << "weights are packed 16 columns at a time";
}

TEST(SumRegionsTest, WhatWorksOnEachChannelIsCut) {
  EXPECT_EQ(
      CutProducts([](GraphBuilder& b, ValueId wide) {
        return b.Node("Mul", {b.Node("Sigmoid", {wide}), wide});
      }),
      kProduct + " Sigmoid Mul " + kProduct + " " + kProduct + " Sigmoid Mul " + kProduct + " Neg");
  EXPECT_NE(CutProducts([](GraphBuilder& b, ValueId wide) {
              return b.Node("Add", {wide, Weights(b, "one", {5, 1})});
            }),
            "")
      << "the same number for each channel of a row";
}

TEST(SumRegionsTest, WhatNeedsOtherChannelsIsNot) {
  EXPECT_EQ(CutProducts([](GraphBuilder& b, ValueId wide) {
              return b.Node("Softmax", {wide}, With("axis", int64_t{-1}));
            }),
            "");
  EXPECT_EQ(CutProducts([](GraphBuilder& b, ValueId wide) {
              return b.Node("Add", {wide, Weights(b, "each", {64})});
            }),
            "")
      << "a number for each channel would have to be cut";
  EXPECT_EQ(CutProducts([](GraphBuilder& b, ValueId wide) {
              return b.Node("Mul", {wide, b.Input("other", FloatTensor({5, 64}))});
            }),
            "");
  EXPECT_EQ(CutProducts([](GraphBuilder& b, ValueId wide) {
              b.Output(b.Node("ReduceSum", {wide}));
              return wide;
            }),
            "");
  EXPECT_EQ(CutProducts([](GraphBuilder& b, ValueId wide) {
              const ValueId turned = b.Node("Reshape", {wide, b.Int64s("as", {64, 5})});
              return b.Node("Reshape", {turned, b.Int64s("back", {5, 64})});
            }),
            "")
      << "rows and channels mixed";
}

// Attention of `heads` between projections of [2, rows, 16].
std::string CutAttention(int64_t heads, graph::Shape mask, bool four_axes,
                         const SumSlices& sizes = {}, int64_t columns = 64, int64_t rows = 7) {
  GraphBuilder b;
  const ValueId x = b.Input("x", FloatTensor({2, rows, 16}));
  const int64_t width = columns / heads;
  std::vector<ValueId> inputs;
  for (const std::string name : {"q", "k", "v"}) {
    ValueId y = Fused(b, {x, Weights(b, name, {16, columns}), Weights(b, name + "b", {columns})});
    if (four_axes) y = b.Node("Reshape", {y, b.Int64s(name + " as", {2, rows, heads, width})});
    inputs.push_back(y);
  }
  if (!mask.empty()) inputs.push_back(b.Input("mask", FloatTensor(std::move(mask))));
  Attributes attributes = With("num_heads", heads);
  attributes.Set("q_layout", std::string("bshd"));
  const ValueId seed = inputs[0];
  ValueId y = b.Nodes("FusedAttention", inputs, 1, attributes, "plimsoll")[0];
  if (four_axes) y = b.Node("Reshape", {y, b.Int64s("flat", {2, rows, columns})});
  b.Output(b.Node("Neg", {Fused(b, {y, Weights(b, "o", {columns, 16}), ValueId(), x})}));
  return CutInto(b, seed, sizes);
}

TEST(SumRegionsTest, AttentionComesByHeads) {
  const std::string slice =
      kProduct + " " + kProduct + " " + kProduct + " plimsoll::FusedAttention " + kProduct + " ";
  EXPECT_EQ(CutAttention(4, {}, false), slice + slice + "Neg");
  EXPECT_EQ(CutAttention(4, {2, 1, 7, 7}, false, {.slices = 4}),
            slice + slice + slice + slice + "Neg");
  EXPECT_NE(CutAttention(4, {}, true), "");
}

TEST(SumRegionsTest, HeadsThatCannotBeHalvedTwiceComeInThirds) {
  const auto slices = [](const std::string& left) {
    return std::ranges::count(left, 'A');  // of FusedAttention
  };
  EXPECT_EQ(slices(CutAttention(4, {}, false)), 2);
  EXPECT_EQ(slices(CutAttention(6, {}, false, {}, 96)), 3);
  EXPECT_EQ(slices(CutAttention(2, {}, false)), 2);
}

TEST(SumRegionsTest, AttentionOverManyKeysMayComeInSmallerSlices) {
  EXPECT_EQ(CutAttention(4, {}, false, {.least_channels = 64}), "");
  EXPECT_NE(CutAttention(4, {}, false, {.least_channels = 64}, 64, 32), "");
  EXPECT_EQ(CutAttention(4, {}, false, {.least_channels = 66}, 64, 32), "");
}

TEST(SumRegionsTest, HeadsAreNotCut) {
  EXPECT_EQ(CutAttention(1, {}, false), "");
  EXPECT_EQ(CutAttention(8, {}, false, {.slices = 8}), "") << "8 columns each";
  EXPECT_EQ(CutAttention(4, {1, 4, 7, 7}, false), "") << "a mask of its own for each head";
}

}  // namespace sum_regions_test
}  // namespace plimsoll::compile
