#pragma once

#include <optional>
#include <string>

#include "cli/answer.h"
#include "cli/reports/plan/plan_report.h"
#include "compile/compile_model.h"
#include "compile/plan_model.h"
#include "graph/graph.h"
#include "plimsoll/base/status.h"

namespace plimsoll::cli {

// What the operators that need zeroed memory cost in bytes under atomic_clean_policy 0 and 1; for
// this the graph is planned once more, under the policy that `options` does not ask for. Nothing
// where no operator needs it.
Result<std::optional<PlanReport::Clearing>> CompareClearing(const graph::Graph& graph,
                                                            const compile::PlannedModel& planned,
                                                            const compile::PlanOptions& options);

// The same of a compiled model: what its runs take, workspaces included.
Result<std::optional<PlanReport::Clearing>> CompareClearing(const compile::CompiledModel& model);

std::string ClearingText(const PlanReport::Clearing& clearing);
Json ClearingJson(const PlanReport::Clearing& clearing);

}  // namespace plimsoll::cli
