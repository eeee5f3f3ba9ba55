#pragma once

#include "compile/passes/fuse/fusion_switches.h"
#include "graph/graph.h"

namespace plimsoll::compile {

// In a model that rounds floats to whole numbers, before constants are folded: products of floats
// get sum_steps, and those whose bias ONNX Runtime adds afterwards get bias_last
// (graph/operators/product/fused.cc), so that their sums have its last bits. Nothing is counted.
FusionCounts TakeSumSteps(graph::Graph& graph, const FusionSwitches& switches = {});

}  // namespace plimsoll::compile
