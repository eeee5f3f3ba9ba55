#pragma once

#include "compile/passes/fuse/fusion_switches.h"
#include "graph/graph.h"

namespace plimsoll::compile {

// Activations that exporters write out become one node each: Gelu by the error function and by
// tanh, x * Sigmoid(x) as Swish, x * HardSigmoid(x) as HardSwish. Constants are checked to the
// precision of a float. Gives how many were found.
FusionCounts FuseActivations(graph::Graph& graph, const FusionSwitches& switches = {});

}  // namespace plimsoll::compile
