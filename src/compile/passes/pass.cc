#include "compile/passes/pass.h"

#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "compile/passes/common_subexpressions.h"
#include "compile/passes/compact.h"
#include "compile/passes/dead_code.h"
#include "compile/passes/fold/fold_constants.h"
#include "compile/passes/forms/cut_convolutions.h"
#include "compile/passes/forms/drop_dead_taps.h"
#include "compile/passes/forms/fuse_byte_tables.h"
#include "compile/passes/forms/split_products.h"
#include "compile/passes/forms/turn_convolutions.h"
#include "compile/passes/fuse/fuse_activations.h"
#include "compile/passes/fuse/fuse_attention.h"
#include "compile/passes/fuse/fuse_convolutions.h"
#include "compile/passes/fuse/fuse_normalizations.h"
#include "compile/passes/fuse/fuse_pads.h"
#include "compile/passes/fuse/fuse_products.h"
#include "compile/passes/fuse/fuse_quantized.h"
#include "compile/passes/fuse/fuse_scale_shifts.h"
#include "compile/passes/inline_branches.h"
#include "compile/passes/layout/channel_groups.h"
#include "compile/passes/loop_invariants.h"
#include "compile/passes/merge_views.h"
#include "compile/passes/no_ops.h"
#include "compile/passes/overwrite_order.h"
#include "compile/passes/precision/float_steps.h"
#include "compile/passes/precision/sum_steps.h"
#include "compile/passes/precision/widen_halves.h"
#include "compile/passes/sink_transposes.h"
#include "compile/shapes/shapes.h"

namespace plimsoll::compile {
namespace {

using graph::Graph;

using enum FusionPattern;

struct Pass {
  FusionCounts (*run)(Graph& graph, const FusionSwitches& switches);
  std::array<FusionPattern, 6> patterns;  // that it looks for; the first ones count
  size_t count = 1;
  std::string_view makes = {};  // nodes of this operator of domain "plimsoll"; empty: of others
};

// One pass opens the way for another, so these go round until nothing changes.
constexpr Pass kCleaning[] = {
    {InlineBranches, {kBranchInline}},
    {RemoveLoopInvariants, {kLoopInvariant}},
    {RemoveNoOps, {kNoOpRemove}},
    {MergeViews, {kViewMerge}},
    {MergeCommonSubexpressions, {kCommonSubexpression}},
    {RemoveDeadCode, {kDeadCode}},
};
constexpr int kMostRounds = 8;

// Before everything else, which knows float32 best.
constexpr Pass kWidening[] = {{WidenHalves, {kHalfWiden}}};

// Before constants are folded: weights stay bytes.
constexpr Pass kQuantizing[] = {
    {KeepOpenFactors, {kQuantized}}, {TakeSumSteps, {kQuantized}}, {FuseQuantized, {kQuantized}}};

// What exporters write out as many nodes, and what stands between nodes that could be fused.
// Attention comes before Transposes move, since it takes them in.
constexpr Pass kPatterns[] = {
    {FuseActivations, {kGelu, kSwish, kHardSwish}, 3},
    {FuseNormalizations, {kLayerNorm, kRmsNorm}, 2},
    {TakeFloatSteps, {kQuantized}},
    {TurnConvolutions, {kConvTurn}},
    {FusePads, {kWindowPad}},
    {CutConvolutions, {kConvCut}},
    {DropDeadTaps, {kDeadTap}},
    {TakeColumns, {kMatMulSplit}},
    {FuseAttention, {kAttention}, 1, "FusedAttention"},
    {SinkTransposes, {kTransposeSink}},
};

// Tables come behind Transposes that moved, which do not move behind a table.
constexpr Pass kFusing[] = {
    {FuseByteTables, {kQuantized}, 1, "ByteTable"},
    {FuseConvolutions, {kConvBatchnorm, kConvAdd, kConvActivation}, 3, "FusedConv"},
    {FuseProducts,
     {kMatMulTranspose, kMatMulScale, kMatMulReshape, kMatMulBiasAdd, kMatMulAdd,
      kMatMulActivation},
     6,
     "FusedMatMul"},
    {SplitProducts, {kMatMulSplit}, 1, "FusedMatMul"},
    {FuseScaleShifts, {kScaleShift}, 1, "FusedScaleShift"},
};

constexpr Pass kFolding[] = {{FoldConstants, {kConstantFold}}};
constexpr Pass kFoldingBeforeFusing[] = {{FoldBeforeFusing, {kConstantFold}}};

// Passes over one graph, as far as their patterns are on.
class PassRunner {
 public:
  PassRunner(Graph& graph, FusionCounts& counts, const FusionSwitches& switches,
             const kernels::Backend& backend)
      : graph_(graph), counts_(counts), switches_(switches), backend_(backend) {}

  // Gives how much was changed.
  int Run(std::span<const Pass> passes) {
    int changes = 0;
    for (const Pass& pass : passes) {
      std::vector<FusionPattern> wanted;
      for (size_t i = 0; i < pass.count; ++i) {
        if (switches_.IsOn(pass.patterns[i])) wanted.push_back(pass.patterns[i]);
      }
      const bool useful = pass.makes.empty() || backend_.HasOperator("plimsoll", pass.makes, 1);
      if (wanted.empty() || !useful) continue;
      const FusionCounts found = pass.run(graph_, switches_);
      counts_.AddRun(found, wanted);
      changes += found.effects();
    }
    return changes;
  }

  void Clean(std::span<const Pass> folding) {
    for (int round = 0; round < kMostRounds; ++round) {
      const int folded = Run(folding);
      if (folded + Run(kCleaning) == 0) return;
    }
  }

 private:
  Graph& graph_;
  FusionCounts& counts_;
  const FusionSwitches& switches_;
  const kernels::Backend& backend_;
};

}  // namespace

Status Simplify(Graph& graph, FusionCounts& counts, const FusionSwitches& switches,
                const kernels::Backend& backend) {
  PassRunner passes(graph, counts, switches, backend);
  if (backend.works_in_float32() && passes.Run(kWidening) > 0) PLIMSOLL_TRY(InferShapes(graph));
  if (passes.Run(kQuantizing) > 0) PLIMSOLL_TRY(InferShapes(graph));
  passes.Clean(kFoldingBeforeFusing);
  passes.Run(kPatterns);
  passes.Clean(kFoldingBeforeFusing);
  passes.Run(kFusing);
  passes.Clean(kFolding);
  OverwriteAfterReaders(graph);
  graph = Compact(graph);
  return InferShapes(graph);
}

Result<int> ChooseLayouts(Graph& graph, GroupedChannels where, FusionCounts& counts,
                          const FusionSwitches& switches, const kernels::Backend& backend) {
  const int together = backend.channels_together();
  if (where == GroupedChannels::kNowhere || together == 1 || !switches.IsOn(kChannelGroup)) {
    return 0;
  }
  const FusionCounts found = where == GroupedChannels::kWherePossible
                                 ? GroupChannels(graph, together)
                                 : GroupFilledChannels(graph, together);
  counts.AddRun(found, std::array{kChannelGroup});
  const int grouped = found.effects();
  if (grouped == 0) return 0;
  PassRunner(graph, counts, switches, backend).Clean(kFolding);
  OverwriteAfterReaders(graph);
  graph = Compact(graph);
  PLIMSOLL_TRY(InferShapes(graph));
  return grouped;
}

}  // namespace plimsoll::compile
