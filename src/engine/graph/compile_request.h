#pragma once

#include "compile/plan_model.h"
#include "config/run_config.h"
#include "graph/graph.h"
#include "plimsoll/base/status.h"

namespace plimsoll::engine {

// How graphs are planned for a session that obeys `config`; what the options do not speak of stays
// as in `base`.
//
//   atomic_clean_policy               one cleared area, or each node its own
//   ge.plimsoll.*                     compile::AssignerChoice: who places buffers, and how
//   memory_optimization_policy        MemoryPriority: the better of two plans
//   ge.topoSortingMode                the order of execution, in place of the search for one
//   ge.featureBaseRefreshable         fixed addresses lie outside the feature map
//   input_fusion_size                 which of the copied inputs come together
//   ge.exec.disableReuseMemory, OP_NO_REUSE_MEM, ge.exec.inputReuseMemIndexes,
//   ge.exec.outputReuseMemIndexes     compile::ReuseOptions
compile::PlanOptions PlanOptionsFor(const config::RunConfig& config, compile::PlanOptions base);

// Refuses indexes of inputs and outputs that the graph does not have.
Status CheckReuseIndexes(const graph::Graph& graph, const compile::ReuseOptions& reuse);

}  // namespace plimsoll::engine
