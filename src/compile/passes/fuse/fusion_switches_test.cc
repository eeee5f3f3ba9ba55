#include "compile/passes/fuse/fusion_switches.h"

#include <gmock/gmock.h>

#include "compile/compile_model.h"
#include "compile/passes/common_subexpressions.h"
#include "compile/passes/fuse/fuse_activations.h"
#include "compile/passes/fuse/fuse_attention.h"
#include "compile/passes/fuse/fuse_convolutions.h"
#include "compile/passes/fuse/fuse_normalizations.h"
#include "compile/passes/fuse/fuse_products.h"
#include "compile/passes/pass_results_for_tests.h"

namespace plimsoll::compile {
namespace fusion_switches_test {

using enum FusionPattern;
using graph::Graph;
using graph::GraphBuilder;
using graph::ValueId;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

FusionSwitches Read(const GroupSwitches& graph_fusion, const GroupSwitches& ub_fusion,
                    std::vector<std::string>* notes = nullptr) {
  std::vector<std::string> ignored;
  return {graph_fusion, ub_fusion, notes == nullptr ? ignored : *notes};
}

std::vector<std::string> OffIn(const FusionSwitches& switches, FusionGroup group) {
  std::vector<std::string> off;
  for (const FusionPatternRow& row : FusionPatternTable()) {
    if (row.group == group && !switches.IsOn(row.pattern)) off.emplace_back(row.name);
  }
  return off;
}

size_t Switchable(FusionGroup group) {
  return static_cast<size_t>(
      std::ranges::count_if(FusionPatternTable(), [&](const FusionPatternRow& row) {
        return row.group == group && row.always_on_because.empty();
      }));
}

TEST(FusionSwitchesTest, R203_WithoutAFileEveryPatternIsOn) {
  EXPECT_THAT(OffIn({}, FusionGroup::kGraphFusion), IsEmpty());
  EXPECT_THAT(OffIn({}, FusionGroup::kUbFusion), IsEmpty());
}

TEST(FusionSwitchesTest, APatternIsSwitchedOffByName) {
  const FusionSwitches switches =
      Read({.patterns = {{"GeluFusionPass", false}, {"SwishFusionPass", true}}},
           {.patterns = {{"ConvAddFusionPass", false}}});
  EXPECT_THAT(OffIn(switches, FusionGroup::kGraphFusion), ElementsAre("GeluFusionPass"));
  EXPECT_THAT(OffIn(switches, FusionGroup::kUbFusion), ElementsAre("ConvAddFusionPass"));
}

TEST(FusionSwitchesTest, R205_AllOffIsOffInThatGroupOnly) {
  const FusionSwitches graph = Read({.all_off = true}, {});
  EXPECT_EQ(OffIn(graph, FusionGroup::kGraphFusion).size(), Switchable(FusionGroup::kGraphFusion));
  EXPECT_THAT(OffIn(graph, FusionGroup::kUbFusion), IsEmpty());
  const FusionSwitches ub = Read({}, {.all_off = true});
  EXPECT_THAT(OffIn(ub, FusionGroup::kGraphFusion), IsEmpty());
  EXPECT_EQ(OffIn(ub, FusionGroup::kUbFusion).size(), Switchable(FusionGroup::kUbFusion));
}

TEST(FusionSwitchesTest, R206_PatternsThatAreOnBesideAllOffStayOn) {
  const FusionSwitches switches =
      Read({.all_off = true, .patterns = {{"GeluFusionPass", true}}}, {});
  EXPECT_TRUE(switches.IsOn(kGelu));
  EXPECT_FALSE(switches.IsOn(kSwish));
}

TEST(FusionSwitchesTest, R207_WhatCannotBeSwitchedOffStaysOnAndIsNamedOnce) {
  std::vector<std::string> notes;
  const FusionSwitches all = Read({.all_off = true}, {.all_off = true}, &notes);
  EXPECT_TRUE(all.IsOn(kConstantFold));
  EXPECT_TRUE(all.IsOn(kDeadCode));
  ASSERT_EQ(notes.size(), 1);
  EXPECT_THAT(notes[0], testing::AllOf(HasSubstr("stay on"), HasSubstr("ConstantFoldPass"),
                                       HasSubstr("DeadCodePass")));
  notes.clear();
  Read({.patterns = {{"DeadCodePass", false}}}, {}, &notes);
  EXPECT_THAT(notes, ElementsAre(HasSubstr("DeadCodePass (")));
  notes.clear();
  Read({.patterns = {{"DeadCodePass", true}}}, {}, &notes);
  EXPECT_THAT(notes, IsEmpty());
}

TEST(FusionSwitchesTest, NamesOfOtherDevicesAreNotedAndDoNothing) {
  std::vector<std::string> notes;
  // The seed's own file, but for the patterns that we have.
  const FusionSwitches switches = Read({.patterns = {{"RequantFusionPass", true},
                                                     {"ConvToFullyConnectionFusionPass", false},
                                                     {"SoftmaxFusionPass", true},
                                                     {"MatMulBiasAddFusionPass", true}}},
                                       {.patterns = {{"TbePool2dQuantFusionPass", true}}}, &notes);
  EXPECT_EQ(switches, FusionSwitches());
  EXPECT_THAT(notes, ElementsAre(testing::AllOf(HasSubstr("RequantFusionPass"),
                                                HasSubstr("ConvToFullyConnectionFusionPass"),
                                                HasSubstr("SoftmaxFusionPass")),
                                 HasSubstr("TbePool2dQuantFusionPass")));
  notes.clear();
  Read({.patterns = {{"GluFusionPass", false}}}, {}, &notes);
  EXPECT_THAT(notes, ElementsAre(HasSubstr("did you mean 'GeluFusionPass'?")));
  notes.clear();
  const FusionSwitches wrong_group = Read({}, {.patterns = {{"GeluFusionPass", false}}}, &notes);
  EXPECT_TRUE(wrong_group.IsOn(kGelu));
  EXPECT_THAT(notes, ElementsAre(HasSubstr("is a pattern of GraphFusion")));
}

TEST(FusionSwitchesTest, EveryPatternHasANameOfItsOwnAndAMeaning) {
  std::map<std::string_view, int> names;
  for (const FusionPatternRow& row : FusionPatternTable()) {
    EXPECT_EQ(++names[row.name], 1) << row.name;
    EXPECT_TRUE(row.name.ends_with("Pass")) << row.name;
    EXPECT_FALSE(row.meaning.empty()) << row.name;
  }
}

// A convolution, then what `build` makes of it.
Graph WithConvolution(const std::function<void(GraphBuilder&, ValueId)>& build) {
  GraphBuilder b;
  const ValueId x = b.Input("x", FloatTensor({1, 4, 6, 6}));
  build(b, b.Node("Conv", {x, Weights(b, "w", {4, 4, 1, 1})}));
  return Inferred(b);
}

Graph WithProduct(const std::function<void(GraphBuilder&, ValueId)>& build) {
  GraphBuilder b;
  const ValueId x = b.Input("x", FloatTensor({5, 4}));
  build(b, b.Node("MatMul", {x, Weights(b, "w", {4, 4})}));
  return Inferred(b);
}

// A node of one input over the result.
std::function<void(GraphBuilder&, ValueId)> Then(const std::string& op) {
  return [op](GraphBuilder& b, ValueId y) { b.Output(b.Node(op, {y})); };
}

// The same, while the result is an output of the model as well.
std::function<void(GraphBuilder&, ValueId)> SharedThen(const std::string& op) {
  return [op](GraphBuilder& b, ValueId y) {
    b.Output(y);
    b.Output(b.Node(op, {y}));
  };
}

PatternCount CountOf(FusionPattern pattern, Pass pass, Graph graph) {
  return pass(graph, {})[pattern];
}

constexpr PatternCount kTaken = {.effects = 1};
constexpr PatternCount kLeft = {.declined = 1};

TEST(FusionCountsTest, R162_WhatVanishesWouldBeMissedSoTheMatchHasNoEffect) {
  EXPECT_EQ(CountOf(kConvActivation, FuseConvolutions, WithConvolution(Then("Relu"))), kTaken);
  EXPECT_EQ(CountOf(kConvActivation, FuseConvolutions, WithConvolution(SharedThen("Relu"))), kLeft);
  EXPECT_EQ(CountOf(kMatMulActivation, FuseProducts, WithProduct(Then("Relu"))), kTaken);
  EXPECT_EQ(CountOf(kMatMulActivation, FuseProducts, WithProduct(SharedThen("Relu"))), kLeft);
  const auto add = [](bool constant, bool shared) {
    return [=](GraphBuilder& b, ValueId y) {
      const ValueId other = constant ? Scalar(b, "c", 2) : b.Input("r", FloatTensor({1, 4, 6, 6}));
      if (shared) b.Output(y);
      b.Output(b.Node("Add", {y, other}));
    };
  };
  EXPECT_EQ(CountOf(kConvBatchnorm, FuseConvolutions, WithConvolution(add(true, false))), kTaken);
  EXPECT_EQ(CountOf(kConvBatchnorm, FuseConvolutions, WithConvolution(add(true, true))), kLeft);
  EXPECT_EQ(CountOf(kConvAdd, FuseConvolutions, WithConvolution(add(false, false))), kTaken);
  EXPECT_EQ(CountOf(kConvAdd, FuseConvolutions, WithConvolution(add(false, true))), kLeft);
}

TEST(FusionCountsTest, R162_OperandsThatOthersReadAreMatchesWithoutEffect) {
  const auto product = [](const std::string& op, bool shared) {
    GraphBuilder b;
    const ValueId x = b.Input("x", FloatTensor({5, 4}));
    const ValueId y = b.Input("y", FloatTensor({6, 4}));
    const ValueId operand = op == "Transpose" ? b.Node(op, {y}, With("perm", Ints{1, 0}))
                                              : b.Node(op, {x, Scalar(b, "c", 2)});
    if (shared) b.Output(operand);
    b.Output(op == "Transpose" ? b.Node("MatMul", {x, operand})
                               : b.Node("MatMul", {operand, Weights(b, "w", {4, 3})}));
    return Inferred(b);
  };
  EXPECT_EQ(CountOf(kMatMulTranspose, FuseProducts, product("Transpose", false)), kTaken);
  EXPECT_EQ(CountOf(kMatMulTranspose, FuseProducts, product("Transpose", true)), kLeft);
  EXPECT_EQ(CountOf(kMatMulScale, FuseProducts, product("Mul", false)), kTaken);
  EXPECT_EQ(CountOf(kMatMulScale, FuseProducts, product("Mul", true)), kLeft);
}

TEST(FusionCountsTest, R162_GatesAndScoresThatOthersReadAreMatchesWithoutEffect) {
  const auto gated = [](const std::string& gate, bool shared) {
    GraphBuilder b;
    const ValueId x = b.Input("x", FloatTensor({5, 4}));
    const ValueId y = b.Node(gate, {x});
    if (shared) b.Output(y);
    b.Output(b.Node("Mul", {x, y}));
    return Inferred(b);
  };
  EXPECT_EQ(CountOf(kSwish, FuseActivations, gated("Sigmoid", false)), kTaken);
  EXPECT_EQ(CountOf(kSwish, FuseActivations, gated("Sigmoid", true)), kLeft);
  const auto attention = [](bool shared) {
    GraphBuilder b;
    const ValueId q = b.Input("q", FloatTensor({1, 2, 5, 4}));
    const ValueId k = b.Input("k", FloatTensor({1, 2, 4, 5}));
    const ValueId scores = b.Node("Softmax", {b.Node("MatMul", {q, k})});
    if (shared) b.Output(scores);
    b.Output(b.Node("MatMul", {scores, b.Input("v", FloatTensor({1, 2, 5, 4}))}));
    return Inferred(b);
  };
  EXPECT_EQ(CountOf(kAttention, FuseAttention, attention(false)), kTaken);
  EXPECT_EQ(CountOf(kAttention, FuseAttention, attention(true)), kLeft);
}

TEST(FusionCountsTest, R162_OverSeveralRunsEffectsAddUpAndWhatIsLeftIsCountedOnce) {
  FusionCounts counts;
  FusionCounts first;
  first.Took(kGelu, 2);
  first.Declined(kGelu, 3);
  FusionCounts second;
  second.Took(kGelu, 1);
  second.Declined(kGelu, 2);
  const std::array patterns = {kGelu};
  counts.AddRun(first, patterns);
  counts.AddRun(second, patterns);
  EXPECT_EQ(counts[kGelu], (PatternCount{.effects = 3, .declined = 2}));
  EXPECT_EQ(counts[kGelu].matches(), 5);
}

TEST(FusionCountsTest, PatternsOfOnePassAreSwitchedOneByOne) {
  const Graph graph = WithConvolution([](GraphBuilder& b, ValueId y) {
    b.Output(b.Node("Relu", {b.Node("Add", {y, Scalar(b, "c", 2)})}));
  });
  const auto left = [&](FusionPattern off) {
    Graph after = graph;
    FusionSwitches switches;
    switches.SwitchOff(off);
    FusionCounts counts;
    Must(Simplify(after, counts, switches));
    return OperatorsOf(after);
  };
  EXPECT_EQ(left(kConvActivation), "plimsoll::FusedConv Relu");
  EXPECT_EQ(left(kConvBatchnorm), "Conv Add Relu");
  EXPECT_EQ(left(kMatMulActivation), "plimsoll::FusedConv");
}

TEST(FusionCountsTest, R164_ACompiledModelTellsOfPatternsThatAreOnOnly) {
  const Graph graph = WithConvolution(Then("Relu"));
  CompileOptions options;
  auto compiled = CompileModel(graph, options);
  ASSERT_TRUE(compiled.ok());
  EXPECT_EQ(compiled->fusion[kConvActivation], kTaken);
  options.switches.SwitchOff(kConvActivation);
  options.switches.SwitchOff(kChannelGroup);
  options.switches.SwitchOff(kSliceBySlice);
  compiled = CompileModel(graph, options);
  ASSERT_TRUE(compiled.ok());
  for (const FusionPattern off : {kConvActivation, kChannelGroup, kSliceBySlice}) {
    EXPECT_FALSE(compiled->fusion.looked_for(off)) << RowOf(off).name;
  }
  EXPECT_EQ(OperatorsOf(compiled->graph), "Conv Relu");
}

TEST(FusionCountsTest, WhatLoadingFoundBelongsToTheBuild) {
  CompileOptions options;
  options.found_before.Took(kGelu);
  options.found_before.Declined(kConvActivation);
  const auto compiled = CompileModel(WithConvolution(Then("Relu")), options);
  ASSERT_TRUE(compiled.ok());
  EXPECT_EQ(compiled->fusion[kGelu], kTaken);
  EXPECT_EQ(compiled->fusion[kConvActivation], kTaken);
}

}  // namespace fusion_switches_test
}  // namespace plimsoll::compile
