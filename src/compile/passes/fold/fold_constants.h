#pragma once

#include "compile/passes/fuse/fusion_switches.h"
#include "graph/graph.h"

namespace plimsoll::compile {

// Works out, once and for all, what does not depend on the model's inputs: nodes whose inputs are
// all constants (run through their kernels), and shape arithmetic whose result shape inference
// already knows as numbers. A node without a kernel, with data that is not there or that a kernel
// refuses stays; so does one that would blow up a small constant into a large one, which is better
// made when it is needed, unless it begins a chain that pays (`ConstantChains`). Gives how many
// nodes became constants.
FusionCounts FoldConstants(graph::Graph& graph, const FusionSwitches& switches = {});

// The same, but leaves large Transposes, and Casts of halves to float32, that only matrix products
// read: a product takes them in, and a copy of the weight is never made.
FusionCounts FoldBeforeFusing(graph::Graph& graph, const FusionSwitches& switches = {});

}  // namespace plimsoll::compile
