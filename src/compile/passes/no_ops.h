#pragma once

#include "graph/graph.h"

namespace plimsoll::compile {

// Removes nodes that give back what they were given: Identity, Cast and CastLike to the type that
// is there, Dropout outside training, Transpose by the identity, views that keep the shape, Expand
// to the shape that is there, arithmetic and logic with a neutral constant that changes no shape.
// Gives how many went.
int RemoveNoOps(graph::Graph& graph);

}  // namespace plimsoll::compile
