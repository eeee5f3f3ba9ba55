#pragma once

#include "compile/passes/fuse/fusion_switches.h"
#include "graph/graph.h"

namespace plimsoll::compile {

// An operator whose operands come from DequantizeLinear and whose result goes into QuantizeLinear
// becomes the one that works on the bytes themselves: Conv as QLinearConv, MatMul as QLinearMatMul,
// Gemm as QGemm, Add as QLinearAdd and so on; one that only moves elements moves bytes. A Relu or
// Clip that the bytes' range makes without effect vanishes. Products of bytes whose result stays
// float, with their scales (and bias) behind them, become MatMulIntegerToFloat. Runs before
// constants are folded, so that weights stay bytes. Results differ by rounding: sums of bytes are
// exact.
FusionCounts FuseQuantized(graph::Graph& graph, const FusionSwitches& switches = {});

}  // namespace plimsoll::compile
