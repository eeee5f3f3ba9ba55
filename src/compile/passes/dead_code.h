#pragma once

#include "compile/passes/fuse/fusion_switches.h"
#include "graph/graph.h"

namespace plimsoll::compile {

// Takes nodes out of their bodies when nothing that the model returns needs what they make. Nodes
// of operators that have no row stay, for nobody knows what else they do; so do nodes with special
// memory. Gives how many went.
FusionCounts RemoveDeadCode(graph::Graph& graph, const FusionSwitches& switches = {});

}  // namespace plimsoll::compile
