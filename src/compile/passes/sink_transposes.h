#pragma once

#include "compile/passes/fuse/fusion_switches.h"
#include "graph/graph.h"

namespace plimsoll::compile {

// Moves Transposes behind element-wise operators (those over bytes with one scale among them) and
// behind joins that another Transpose or such an operator reads, so that these meet what made their
// operands: an operator over Transposes by one permutation (and constants, which are transposed
// back) becomes the same operator over what they transpose, followed by one Transpose. Only where a
// Transpose vanishes by it. Gives how many operators were moved.
FusionCounts SinkTransposes(graph::Graph& graph, const FusionSwitches& switches = {});

}  // namespace plimsoll::compile
