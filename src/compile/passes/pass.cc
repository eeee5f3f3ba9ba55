#include "compile/passes/pass.h"

#include <algorithm>
#include <span>
#include <string_view>

#include "compile/passes/common_subexpressions.h"
#include "compile/passes/compact.h"
#include "compile/passes/dead_code.h"
#include "compile/passes/fold_constants.h"
#include "compile/passes/fuse/fuse_activations.h"
#include "compile/passes/fuse/fuse_attention.h"
#include "compile/passes/fuse/fuse_convolutions.h"
#include "compile/passes/fuse/fuse_normalizations.h"
#include "compile/passes/fuse/fuse_products.h"
#include "compile/passes/inline_branches.h"
#include "compile/passes/layout/channel_groups.h"
#include "compile/passes/merge_views.h"
#include "compile/passes/no_ops.h"
#include "compile/passes/overwrite_order.h"
#include "compile/passes/sink_transposes.h"
#include "compile/shapes/shapes.h"

namespace plimsoll::compile {
namespace {

using graph::Graph;

struct Pass {
  std::string_view name;
  int (*run)(Graph& graph);     // gives how much it changed
  std::string_view makes = {};  // nodes of this operator of domain "plimsoll"; empty: of others
};

// One pass opens the way for another, so these go round until nothing changes.
constexpr Pass kCleaning[] = {
    {"inline_branches", InlineBranches}, {"remove_no_ops", RemoveNoOps},
    {"merge_views", MergeViews},         {"common_subexpressions", MergeCommonSubexpressions},
    {"dead_code", RemoveDeadCode},
};
constexpr int kMostRounds = 8;

// What exporters write out as many nodes, and what stands between nodes that could be fused.
// Attention comes before Transposes move, since it takes them in.
constexpr Pass kPatterns[] = {
    {"fuse_activations", FuseActivations},
    {"fuse_normalizations", FuseNormalizations},
    {"fuse_attention", FuseAttention, "FusedAttention"},
    {"sink_transposes", SinkTransposes},
};

constexpr Pass kFusing[] = {
    {"fuse_convolutions", FuseConvolutions, "FusedConv"},
    {"fuse_products", FuseProducts, "FusedMatMul"},
};

constexpr Pass kFolding[] = {{"fold_constants", FoldConstants}};
constexpr Pass kFoldingBeforeFusing[] = {{"fold_constants", FoldBeforeFusing}};

void AddReport(std::string_view name, int changed, std::vector<PassReport>& reports) {
  const auto known = std::find_if(reports.begin(), reports.end(),
                                  [&](const PassReport& report) { return report.name == name; });
  if (known != reports.end()) {
    known->changes += changed;
  } else {
    reports.push_back({std::string(name), changed});
  }
}

int RunPasses(Graph& graph, std::span<const Pass> passes, std::vector<PassReport>& reports,
              const kernels::Backend& backend = kernels::HostBackend()) {
  int changes = 0;
  for (const Pass& pass : passes) {
    const bool useful = pass.makes.empty() || backend.HasOperator("plimsoll", pass.makes, 1);
    const int changed = useful ? pass.run(graph) : 0;
    changes += changed;
    AddReport(pass.name, changed, reports);
  }
  return changes;
}

void Clean(Graph& graph, std::span<const Pass> folding, std::vector<PassReport>& reports) {
  for (int round = 0; round < kMostRounds; ++round) {
    const int folded = RunPasses(graph, folding, reports);
    if (folded + RunPasses(graph, kCleaning, reports) == 0) return;
  }
}

}  // namespace

Status Simplify(Graph& graph, std::vector<PassReport>& reports, const kernels::Backend& backend) {
  Clean(graph, kFoldingBeforeFusing, reports);
  RunPasses(graph, kPatterns, reports, backend);
  Clean(graph, kFoldingBeforeFusing, reports);
  RunPasses(graph, kFusing, reports, backend);
  Clean(graph, kFolding, reports);
  OverwriteAfterReaders(graph);
  graph = Compact(graph);
  return InferShapes(graph);
}

Result<int> ChooseLayouts(Graph& graph, GroupedChannels where, std::vector<PassReport>& reports,
                          const kernels::Backend& backend) {
  if (where == GroupedChannels::kNowhere || backend.channels_together() == 1) return 0;
  const int grouped = where == GroupedChannels::kWherePossible
                          ? GroupChannels(graph, backend.channels_together())
                          : GroupFilledChannels(graph, backend.channels_together());
  AddReport("channel_groups", grouped, reports);
  if (grouped == 0) return 0;
  Clean(graph, kFolding, reports);
  OverwriteAfterReaders(graph);
  graph = Compact(graph);
  PLIMSOLL_TRY(InferShapes(graph));
  return grouped;
}

}  // namespace plimsoll::compile
