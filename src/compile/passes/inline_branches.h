#pragma once

#include "compile/passes/fuse/fusion_switches.h"
#include "graph/graph.h"

namespace plimsoll::compile {

// Puts the branch that is taken in the place of every `If` whose condition is a constant. Gives how
// many there were.
FusionCounts InlineBranches(graph::Graph& graph, const FusionSwitches& switches = {});

}  // namespace plimsoll::compile
