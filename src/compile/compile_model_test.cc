#include "compile/compile_model.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/must_for_tests.h"
#include "compile/graph_for_tests.h"
#include "compile/passes/pass.h"

namespace plimsoll::compile {
namespace compile_model_test {

using graph::Attributes;
using graph::Graph;
using graph::GraphBuilder;
using graph::ValueId;
using Ints = std::vector<int64_t>;

ValueId Weights(GraphBuilder& builder, const std::string& name, Ints dims) {
  size_t count = 1;
  for (const int64_t dim : dims) count *= static_cast<size_t>(dim);
  return builder.Float32s(name, std::move(dims), std::vector<float>(count, 0.25F));
}

Attributes SameSize() {
  Attributes attributes = With("pads", Ints{1, 1, 1, 1});
  attributes.Set("kernel_shape", Ints{3, 3});
  return attributes;
}

CompiledModel MustCompile(const Graph& graph, const CompileOptions& options) {
  return Must(CompileModel(graph, options));
}

const Technique* Find(const CompiledModel& model, std::string_view name) {
  const auto& all = model.planned.techniques;
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Technique& one) { return one.name == name; });
  return found == all.end() ? nullptr : &*found;
}

// Convolutions of few channels, whose grouped form is larger than the plain one, between operators
// that need the plain one.
Graph NarrowConvolutions() {
  GraphBuilder builder;
  ValueId y = builder.Input("x", FloatTensor({1, 3, 32, 32}));
  for (int i = 0; i < 4; ++i) {
    const std::string name = std::to_string(i);
    y = builder.Node("Conv", {y, Weights(builder, "w" + name, {3, 3, 3, 3})}, SameSize());
    y = builder.Node("CumSum", {y, builder.Int64s("axis" + name, {2})});
  }
  builder.Output(builder.Node("ReduceSum", {y}));
  return Inferred(builder);
}

TEST(CompileModelTest, ThePeakIsNotAboveThatOfPlainLives) {
  const Graph graph = NarrowConvolutions();
  CompileOptions options;
  const Bytes fastest = FeatureMapPeak(MustCompile(graph, options).planned);
  options.plain_peak = PlainPeak(graph);
  EXPECT_GT(fastest, *options.plain_peak);
  EXPECT_LE(FeatureMapPeak(MustCompile(graph, options).planned), *options.plain_peak);
}

TEST(CompileModelTest, TheReportNamesWhatWasSliced) {
  GraphBuilder builder;
  const ValueId x = builder.Node("Relu", {builder.Input("x", FloatTensor({1, 512, 16}))});
  const ValueId wide = builder.Node("MatMul", {x, Weights(builder, "up", {16, 256})});
  const ValueId y = builder.Node("MatMul", {wide, Weights(builder, "down", {256, 16})});
  builder.Output(builder.Node("ReduceSum", {y}));
  const CompiledModel model = MustCompile(Inferred(builder), {});
  const Technique* slices = Find(model, "slice by slice");
  ASSERT_NE(slices, nullptr);
  EXPECT_GE(slices->taken, 1);
  EXPECT_GT(slices->gained, Bytes(0));
}

graph::Attributes ToHalves() { return With("to", static_cast<int64_t>(graph::DataType::kFloat16)); }

ValueId HalfInput(GraphBuilder& builder, graph::Shape shape) {
  return builder.Input("x", graph::ValueType::Tensor(graph::DataType::kFloat16, std::move(shape)));
}

// Whether a model was compiled with its halves, and its peak.
std::pair<bool, Bytes> CompiledOfHalves(const Graph& halves, CompileOptions options) {
  Graph wide = halves;
  FusionCounts counts;
  Must(Simplify(wide, counts));
  EXPECT_GT(counts[FusionPattern::kHalfWiden].effects, 0);
  const CompiledModel model = Must(CompileModel(wide, options, halves));
  return {model.keeps_halves, FeatureMapPeak(model.planned)};
}

TEST(CompileModelTest, HalvesStayWhereFloat32WouldLiftThePeakAbovePlainLives) {
  GraphBuilder builder;
  const ValueId x = HalfInput(builder, {64, 256});
  const ValueId left = builder.Node("Exp", {x});
  const ValueId right = builder.Node("Softmax", {x}, With("axis", int64_t{0}));
  builder.Output(builder.Node("ReduceMax", {builder.Node("Mul", {left, right})}));
  const Graph graph = Inferred(builder);
  CompileOptions options;
  const auto [kept_without_bound, wide_peak] = CompiledOfHalves(graph, options);
  EXPECT_FALSE(kept_without_bound);
  options.plain_peak = PlainPeak(graph);
  EXPECT_GT(wide_peak, *options.plain_peak);
  const auto [kept, peak] = CompiledOfHalves(graph, options);
  EXPECT_TRUE(kept);
  EXPECT_LT(peak, wide_peak);
  // Numbers are rounded in the same places where memory is not used again.
  options.plan.lifetimes.reuse.disabled = true;
  EXPECT_TRUE(CompiledOfHalves(graph, options).first);
  options.plan.lifetimes.reuse.disabled = false;
  options.plan.lifetimes.reuse.not_of = {"Exp"};
  EXPECT_TRUE(CompiledOfHalves(graph, options).first);
}

TEST(CompileModelTest, HalvesThatConvolutionsWouldWidenEachForItselfBecomeFloat32) {
  GraphBuilder builder;
  ValueId y = HalfInput(builder, {1, 16, 32, 32});
  for (const std::string name : {"first", "second"}) {
    const ValueId weights =
        builder.Node("Cast", {Weights(builder, name, {16, 16, 3, 3})}, ToHalves());
    y = builder.Node("Relu", {builder.Node("Conv", {y, weights}, SameSize())});
  }
  builder.Output(y);
  const Graph graph = Inferred(builder);
  CompileOptions options;
  options.plain_peak = PlainPeak(graph);
  EXPECT_FALSE(CompiledOfHalves(graph, options).first);
  options.plan.lifetimes.reuse.disabled = true;
  EXPECT_FALSE(CompiledOfHalves(graph, options).first);
}

TEST(CompileModelTest, MemoryPriorityNeverTakesMore) {
  const Graph graph = NarrowConvolutions();
  CompileOptions options;
  options.plain_peak = PlainPeak(graph);
  const Bytes usual = FeatureMapPeak(MustCompile(graph, options).planned);
  options.plan.memory_priority = true;
  EXPECT_LE(FeatureMapPeak(MustCompile(graph, options).planned), usual);
}

}  // namespace compile_model_test
}  // namespace plimsoll::compile
