#pragma once

#include "compile/passes/fuse/fusion_switches.h"
#include "graph/graph.h"

namespace plimsoll::compile {

// What a Slice cuts off at the ends of a Conv or ConvTranspose that nobody else reads is not
// computed: a Conv pads less, as causal layers mean that pad both ends and drop the last places, a
// ConvTranspose more. The Slice stays where a Conv pads less than it cuts.
FusionCounts CutConvolutions(graph::Graph& graph, const FusionSwitches& switches = {});

}  // namespace plimsoll::compile
