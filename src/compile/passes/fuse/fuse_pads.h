#pragma once

#include "compile/passes/fuse/fusion_switches.h"
#include "graph/graph.h"

namespace plimsoll::compile {

// A Pad by constants before a Conv, MaxPool or AveragePool becomes part of its pads, where that
// gives the same numbers: zeros for a Conv, zeros that are counted for an AveragePool, and for a
// MaxPool what no element of the input lies below. Every window must meet the input.
FusionCounts FusePads(graph::Graph& graph, const FusionSwitches& switches = {});

}  // namespace plimsoll::compile
