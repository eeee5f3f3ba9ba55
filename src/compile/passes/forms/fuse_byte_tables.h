#pragma once

#include "compile/passes/fuse/fusion_switches.h"
#include "graph/graph.h"

namespace plimsoll::compile {

// Elementwise nodes between one tensor of bytes and another, whose other operands are single
// constants, are a function of a byte, such as x * Sigmoid(x): they become a plimsoll::ByteTable,
// which their own kernels fill here. Results are the same bits.
FusionCounts FuseByteTables(graph::Graph& graph, const FusionSwitches& switches = {});

}  // namespace plimsoll::compile
