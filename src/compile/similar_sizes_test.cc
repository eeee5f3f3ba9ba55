#include "compile/similar_sizes.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/must_for_tests.h"
#include "compile/compile_model.h"
#include "compile/graph_for_tests.h"

namespace plimsoll::compile {
namespace similar_sizes_test {

using graph::Graph;
using graph::GraphBuilder;
using graph::ValueId;

// A wide value between two products, which is cut in slices.
Graph WideProducts(int64_t rows) {
  GraphBuilder builder;
  const auto weights = [&](const char* name, int64_t from, int64_t to) {
    return builder.Float32s(name, {from, to},
                            std::vector<float>(static_cast<size_t>(from * to), 0.25F));
  };
  const ValueId x = builder.Node("Relu", {builder.Input("x", FloatTensor({1, rows, 16}))});
  const ValueId wide = builder.Node("MatMul", {x, weights("up", 16, 256)});
  const ValueId y = builder.Node("MatMul", {wide, weights("down", 256, 16)});
  builder.Output(builder.Node("ReduceSum", {y}));
  return Inferred(builder);
}

CompiledModel CompileRows(int64_t rows, SimilarSizes* similar) {
  const Graph graph = WideProducts(rows);
  CompileOptions options;
  options.plain_peak = PlainPeak(graph);
  options.plan.lifetimes.one_shape = false;
  options.similar = similar;
  return Must(CompileModel(graph, options));
}

bool IsSliced(const CompiledModel& model) {
  return std::ranges::any_of(model.planned.techniques, [](const Technique& technique) {
    return technique.name == "slice by slice";
  });
}

Bytes PeakOf(const CompiledModel& model) { return FeatureMapPeak(model.planned); }

TEST(SimilarSizesTest, KeepsWhatWasFoundFirstForSizesWithinAFactorOfTwo) {
  SimilarSizes similar;
  similar.Keep(Bytes(1024), {.share = 0.25});
  similar.Keep(Bytes(2047), {.share = 0.75});
  ASSERT_NE(similar.Find(Bytes(1500)), nullptr);
  EXPECT_EQ(similar.Find(Bytes(1500))->share, 0.25);
  EXPECT_EQ(similar.Find(Bytes(1023)), nullptr);
  EXPECT_EQ(similar.Find(Bytes(2048)), nullptr);
}

TEST(SimilarSizesTest, OtherSizesArePlannedLikeTheFirst) {
  SimilarSizes similar;
  EXPECT_TRUE(IsSliced(CompileRows(560, &similar)));
  const Bytes plain = PlainPeak(WideProducts(560));
  ASSERT_NE(similar.Find(plain), nullptr);
  EXPECT_TRUE(similar.Find(plain)->lasts);
  EXPECT_FALSE(similar.Find(plain)->cuts.empty());
  for (const int64_t rows : {561, 600, 701, 800}) {
    ASSERT_NE(similar.Find(PlainPeak(WideProducts(rows))), nullptr) << rows;
    const CompiledModel model = CompileRows(rows, &similar);
    EXPECT_TRUE(IsSliced(model)) << rows;
    EXPECT_LE(PeakOf(model) * 100, PeakOf(CompileRows(rows, nullptr)) * 105) << rows;
  }
}

TEST(SimilarSizesTest, SizesThatWouldTakeMoreOfPlainLivesAreSearchedFor) {
  const Bytes plain = PlainPeak(WideProducts(600));
  SimilarSizes without_cuts;
  without_cuts.Keep(plain,
                    {.layouts = GroupedChannels::kWherePossible, .share = 0.1, .lasts = true});
  const CompiledModel searched = CompileRows(600, &without_cuts);
  EXPECT_TRUE(IsSliced(searched));
  EXPECT_EQ(PeakOf(searched), PeakOf(CompileRows(600, nullptr)));
  SimilarSizes enough;
  enough.Keep(plain, {.layouts = GroupedChannels::kWherePossible, .share = 1, .lasts = true});
  EXPECT_FALSE(IsSliced(CompileRows(600, &enough)));
}

}  // namespace similar_sizes_test
}  // namespace plimsoll::compile
