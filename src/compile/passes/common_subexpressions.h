#pragma once

#include "compile/passes/fuse/fusion_switches.h"
#include "graph/graph.h"

namespace plimsoll::compile {

// Nodes of one body that do the same work on the same inputs become one, and small constants with
// the same elements become one. Only deterministic operators that may be rewritten. Gives how many
// nodes and constants went.
FusionCounts MergeCommonSubexpressions(graph::Graph& graph, const FusionSwitches& switches = {});

}  // namespace plimsoll::compile
