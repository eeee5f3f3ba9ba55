#pragma once

#include "compile/passes/fuse/fusion_switches.h"
#include "graph/graph.h"

namespace plimsoll::compile {

// Outer taps of a Conv that meet nothing but padding at every place, as those of a dilation larger
// than the image do, leave its constant weights. What is left of the pads is never below zero.
FusionCounts DropDeadTaps(graph::Graph& graph, const FusionSwitches& switches = {});

}  // namespace plimsoll::compile
