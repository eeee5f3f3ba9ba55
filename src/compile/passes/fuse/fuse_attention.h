#pragma once

#include "compile/passes/fuse/fusion_switches.h"
#include "graph/graph.h"

namespace plimsoll::compile {

// Attention as exporters write it becomes plimsoll::FusedAttention:
//   scores = MatMul(Q, K transposed), scaled at any of its ends, plus a mask
//   MatMul(Softmax(scores) [with NaN replaced by 0], V)
// together with the Transposes that bring Q, K, V and the result to and from [batch, heads, rows,
// width], and with the Expand that repeats the heads of K and V. float32, four dimensions. Gives
// how many were found.
FusionCounts FuseAttention(graph::Graph& graph, const FusionSwitches& switches = {});

}  // namespace plimsoll::compile
