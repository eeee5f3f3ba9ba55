#pragma once

#include "compile/passes/fuse/fusion_switches.h"
#include "graph/graph.h"

namespace plimsoll::compile {

// A ConvTranspose of stride one over constant weights becomes a Conv whose weights are turned
// around: it can take in what is behind it, and its kernels are faster. One whose output has far
// more places than its input stays, since a Conv would multiply mostly by its padding.
FusionCounts TurnConvolutions(graph::Graph& graph, const FusionSwitches& switches = {});

}  // namespace plimsoll::compile
