#include "compile/pass.h"

#include <algorithm>
#include <span>
#include <string_view>

#include "compile/common_subexpressions.h"
#include "compile/compact.h"
#include "compile/dead_code.h"
#include "compile/fold_constants.h"
#include "compile/inline_branches.h"
#include "compile/merge_views.h"
#include "compile/no_ops.h"

namespace plimsoll::compile {
namespace {

using graph::Graph;

struct Pass {
  std::string_view name;
  int (*run)(Graph& graph);  // gives how much it changed
};

// One pass opens the way for another, so these go round until nothing changes.
constexpr Pass kCleaning[] = {
    {"fold_constants", FoldConstants},
    {"inline_branches", InlineBranches},
    {"remove_no_ops", RemoveNoOps},
    {"merge_views", MergeViews},
    {"common_subexpressions", MergeCommonSubexpressions},
    {"dead_code", RemoveDeadCode},
};
constexpr int kMostRounds = 8;

int RunPasses(Graph& graph, std::span<const Pass> passes, std::vector<PassReport>& reports) {
  int changes = 0;
  for (const Pass& pass : passes) {
    const int changed = pass.run(graph);
    changes += changed;
    const auto known = std::find_if(reports.begin(), reports.end(), [&](const PassReport& report) {
      return report.name == pass.name;
    });
    if (known != reports.end()) {
      known->changes += changed;
    } else {
      reports.push_back({std::string(pass.name), changed});
    }
  }
  return changes;
}

void Clean(Graph& graph, std::vector<PassReport>& reports) {
  for (int round = 0; round < kMostRounds; ++round) {
    if (RunPasses(graph, kCleaning, reports) == 0) return;
  }
}

}  // namespace

Status Simplify(Graph& graph, std::vector<PassReport>& reports) {
  Clean(graph, reports);
  graph = Compact(graph);
  return {};
}

Status Specialise(Graph& graph, std::vector<PassReport>& reports) {
  Clean(graph, reports);
  graph = Compact(graph);
  return {};
}

}  // namespace plimsoll::compile
