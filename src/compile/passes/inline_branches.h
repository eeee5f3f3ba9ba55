#pragma once

#include "graph/graph.h"

namespace plimsoll::compile {

// Puts the branch that is taken in the place of every `If` whose condition is a constant. Gives how
// many there were.
int InlineBranches(graph::Graph& graph);

}  // namespace plimsoll::compile
