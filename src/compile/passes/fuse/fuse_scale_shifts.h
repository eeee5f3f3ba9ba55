#pragma once

#include "compile/passes/fuse/fusion_switches.h"
#include "graph/graph.h"

namespace plimsoll::compile {

// BatchNormalization in inference, and constant arithmetic a channel, that no convolution and no
// product took over: a line of such nodes, with the activation behind them, becomes one
// plimsoll::FusedScaleShift. Arithmetic with the same numbers for all channels stays as it is, and
// so does arithmetic on channels of a few elements.
FusionCounts FuseScaleShifts(graph::Graph& graph, const FusionSwitches& switches);

}  // namespace plimsoll::compile
