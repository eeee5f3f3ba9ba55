#pragma once

#include "compile/plan_model.h"
#include "engine/graph/loaded_graph.h"
#include "engine/run/executable.h"
#include "graph/graph.h"
#include "plimsoll/engine/reports.h"

namespace plimsoll::engine {

// Of a plan of a graph, whichever it is.
PlanReport MakePlanReport(const graph::Graph& graph, const compile::PlannedModel& model);
// Of what a run executes.
PlanReport MakePlanReport(const Executable& executable, const GraphMemory& memory);

// What becomes of the caller's memory, by the names of these ports.
std::vector<PortUse> PortUsesOf(const std::vector<std::string>& inputs,
                                const std::vector<std::string>& outputs,
                                const compile::PortUses& uses);

}  // namespace plimsoll::engine
