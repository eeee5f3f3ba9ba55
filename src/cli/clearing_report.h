#pragma once

#include <optional>

#include "cli/plan_report.h"
#include "compile/plan_model.h"
#include "graph/graph.h"
#include "plimsoll/base/status.h"

namespace plimsoll::cli {

// What the operators that need zeroed memory cost in bytes under atomic_clean_policy 0 and 1; for
// this the model is planned once more, under the policy that `options` does not ask for. Nothing
// where no operator needs it.
Result<std::optional<PlanReport::Clearing>> CompareClearing(const graph::Graph& graph,
                                                            const compile::PlannedModel& planned,
                                                            const compile::PlanOptions& options);

}  // namespace plimsoll::cli
