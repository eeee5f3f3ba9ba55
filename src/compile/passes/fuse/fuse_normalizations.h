#pragma once

#include "compile/passes/fuse/fusion_switches.h"
#include "graph/graph.h"

namespace plimsoll::compile {

// Normalisations over the last dimension that exporters write out become one node each:
//   (x - mean) / sqrt(variance + epsilon) * scale [+ bias]   LayerNormalization
//   x / sqrt(mean of squares + epsilon) * scale              RMSNormalization
// float32 only, where the single node computes in the same precision. Gives how many were found.
FusionCounts FuseNormalizations(graph::Graph& graph, const FusionSwitches& switches = {});

}  // namespace plimsoll::compile
