#pragma once

#include "compile/passes/fuse/fusion_switches.h"
#include "graph/graph.h"

namespace plimsoll::compile {

// MatMul and Gemm (float32) take over what surrounds them and needs nothing else of theirs, as
// plimsoll::FusedMatMul: a Transpose of the last two dimensions of an operand, constant scalar
// factors, a bias, the sum with another tensor of the same shape, an activation. A Reshape of the
// result's leading dimensions moves to the left operand, where it costs nothing and does not stand
// in the way. The fused node stands where the last of them stood. Gives how many nodes were taken
// over or moved.
FusionCounts FuseProducts(graph::Graph& graph, const FusionSwitches& switches = {});

}  // namespace plimsoll::compile
