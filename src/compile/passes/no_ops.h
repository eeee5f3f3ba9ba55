#pragma once

#include "compile/passes/fuse/fusion_switches.h"
#include "graph/graph.h"

namespace plimsoll::compile {

// Removes nodes that give back what they were given: Identity, Cast and CastLike to the type that
// is there, Dropout outside training, Transpose by the identity, views that keep the shape, Expand
// to the shape that is there, arithmetic and logic with a neutral constant that changes no shape.
// Gives how many went.
FusionCounts RemoveNoOps(graph::Graph& graph, const FusionSwitches& switches = {});

}  // namespace plimsoll::compile
