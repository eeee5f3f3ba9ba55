#pragma once

#include "graph/graph.h"

namespace plimsoll::compile {

// The same model with nothing in its tables that no body names: nodes, the values they use, the
// constants behind those, and the bodies that nodes carry. The inputs and outputs of bodies stay,
// in order. Ids are new, in the order of the old ones; everything else is as it was. Linear.
graph::Graph Compact(const graph::Graph& graph);

}  // namespace plimsoll::compile
