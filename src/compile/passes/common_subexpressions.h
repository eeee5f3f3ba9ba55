#pragma once

#include "graph/graph.h"

namespace plimsoll::compile {

// Nodes of one body that do the same work on the same inputs become one, and small constants with
// the same elements become one. Only deterministic operators that may be rewritten. Gives how many
// nodes and constants went.
int MergeCommonSubexpressions(graph::Graph& graph);

}  // namespace plimsoll::compile
