#include "compile/passes/fuse/fusion_patterns.h"

namespace plimsoll::compile {
namespace {

using enum FusionPattern;
constexpr FusionGroup kGraph = FusionGroup::kGraphFusion;
constexpr FusionGroup kUb = FusionGroup::kUbFusion;

constexpr FusionPatternRow kRows[] = {
    {kConstantFold, "ConstantFoldPass", kGraph, "nodes that read constants alone become constants",
     "sizes are computed from constants, and a plan needs them"},
    {kBranchInline, "BranchInlinePass", kGraph, "an If whose condition is constant is its branch"},
    {kLoopInvariant, "LoopInvariantPass", kGraph,
     "what a loop hands on unchanged is read from outside of it"},
    {kNoOpRemove, "NoOpRemovePass", kGraph,
     "Identity, Dropout in inference, x + 0, x * 1 and the like vanish"},
    {kViewMerge, "ViewMergePass", kGraph, "Reshapes and Transposes in a row become one"},
    {kCommonSubexpression, "CommonSubexpressionPass", kGraph,
     "what is computed twice is computed once"},
    {kDeadCode, "DeadCodePass", kGraph, "nodes that nobody reads vanish",
     "other patterns leave such nodes behind, and they would take memory"},
    {kHalfWiden, "HalfWidenPass", kGraph,
     "nodes over float16 and bfloat16 work on float32, and nothing is rounded between them"},
    {kGelu, "GeluFusionPass", kGraph, "Gelu written out with Erf or Tanh is one node"},
    {kSwish, "SwishFusionPass", kGraph, "x * Sigmoid(x) is one node"},
    {kHardSwish, "HardSwishFusionPass", kGraph, "x * HardSigmoid(x) is one node"},
    {kLayerNorm, "LayerNormFusionPass", kGraph, "LayerNormalization written out is one node"},
    {kRmsNorm, "RmsNormFusionPass", kGraph, "RMSNormalization written out is one node"},
    {kQuantized, "QuantizedFusionPass", kGraph,
     "an operator between DequantizeLinear and QuantizeLinear works on bytes"},
    {kTransposeSink, "TransposeSinkPass", kGraph,
     "a Transpose moves behind element-wise nodes, where it can meet another"},
    {kConvTurn, "ConvTurnPass", kGraph,
     "a ConvTranspose of stride one is a Conv with its weights turned around"},
    {kWindowPad, "WindowPadFusionPass", kGraph, "a convolution or a pool pads its input itself"},
    {kConvCut, "ConvCutPass", kGraph,
     "a convolution does not compute what a Slice behind it cuts off at its ends"},
    {kDeadTap, "DeadTapPass", kGraph,
     "taps of a convolution that meet nothing but padding leave its weights"},
    {kConvBatchnorm, "ConvBatchnormFusionPass", kGraph,
     "BatchNormalization or constant arithmetic behind a convolution goes into its weights"},
    {kMatMulTranspose, "MatMulTransposeFusionPass", kGraph,
     "a product reads an operand transposed, without a Transpose"},
    {kMatMulScale, "MatMulScaleFusionPass", kGraph,
     "constant factors around a product go into it or its weights"},
    {kMatMulReshape, "MatMulReshapePass", kGraph,
     "a Reshape of a product's rows moves to its left operand"},
    {kMatMulBiasAdd, "MatMulBiasAddFusionPass", kGraph, "a product adds its bias itself"},
    {kMatMulSplit, "MatMulSplitPass", kGraph,
     "a product whose columns are read in parts makes the parts"},
    {kChannelGroup, "ChannelGroupPass", kGraph,
     "convolutions and what lies between them work on groups of channels"},
    {kAttention, "AttentionFusionPass", kUb,
     "MatMul, Softmax, MatMul run as one: the scores never reach memory"},
    {kConvAdd, "ConvAddFusionPass", kUb, "a convolution adds another tensor to its result"},
    {kConvActivation, "ConvActivationFusionPass", kUb, "a convolution applies its activation"},
    {kMatMulAdd, "MatMulAddFusionPass", kUb, "a product adds another tensor to its result"},
    {kMatMulActivation, "MatMulActivationFusionPass", kUb, "a product applies its activation"},
    {kScaleShift, "ScaleShiftFusionPass", kUb,
     "BatchNormalization or constant arithmetic a channel, and the activation behind it, are one"},
    {kSliceBySlice, "SliceBySliceFusionPass", kUb,
     "nodes run slice by slice, so that a large tensor between them is never whole"},
};

constexpr bool InOrder() {
  for (size_t i = 0; i < std::size(kRows); ++i) {
    if (static_cast<size_t>(kRows[i].pattern) != i) return false;
  }
  return std::size(kRows) == kFusionPatterns;
}
static_assert(InOrder());

}  // namespace

std::span<const FusionPatternRow> FusionPatternTable() { return kRows; }

const FusionPatternRow& RowOf(FusionPattern pattern) { return kRows[static_cast<size_t>(pattern)]; }

std::string_view Name(FusionGroup group) {
  return group == FusionGroup::kGraphFusion ? "GraphFusion" : "UBFusion";
}

int FusionCounts::effects() const {
  int sum = 0;
  for (const PatternCount& count : counts_) sum += count.effects;
  return sum;
}

int FusionCounts::declined() const {
  int sum = 0;
  for (const PatternCount& count : counts_) sum += count.declined;
  return sum;
}

void FusionCounts::AddRun(const FusionCounts& later, std::span<const FusionPattern> patterns) {
  for (const FusionPattern pattern : patterns) {
    PatternCount& count = At(pattern);
    count.effects += later[pattern].effects;
    count.declined = later[pattern].declined;
    count.repository_hits += later[pattern].repository_hits;
  }
}

}  // namespace plimsoll::compile
