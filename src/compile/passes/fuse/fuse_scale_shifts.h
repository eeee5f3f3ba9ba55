#pragma once

#include "compile/passes/fuse/fusion_switches.h"
#include "graph/graph.h"

namespace plimsoll::compile {

// BatchNormalization in inference, and constant arithmetic a channel, that no convolution and no
// product took over: a line of such nodes, with the activation behind them, becomes one
// plimsoll::FusedScaleShift. A single node with one number for all channels stays as it is.
FusionCounts FuseScaleShifts(graph::Graph& graph, const FusionSwitches& switches);

}  // namespace plimsoll::compile
