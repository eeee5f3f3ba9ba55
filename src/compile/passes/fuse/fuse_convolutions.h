#pragma once

#include "compile/passes/fuse/fusion_switches.h"
#include "graph/graph.h"

namespace plimsoll::compile {

// Convolutions (float32) take over what follows them and reads nothing else of theirs:
// BatchNormalization and arithmetic with a constant a channel go into weights and bias; a bias, the
// sum with another tensor of the same shape and an activation go into plimsoll::FusedConv. The
// fused node stands where the last of them stood. Gives how many nodes were taken over.
FusionCounts FuseConvolutions(graph::Graph& graph, const FusionSwitches& switches = {});

}  // namespace plimsoll::compile
