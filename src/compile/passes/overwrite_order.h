#pragma once

#include "graph/graph.h"

namespace plimsoll::compile {

// Passes put a node where the last of those stood that it replaces, which may be behind a node that
// overwrites what it reads (reference_output). Brings such an overwriting node, and what needs it,
// behind every other reader that does not need it itself. Everything else keeps its order.
void OverwriteAfterReaders(graph::Graph& graph);

}  // namespace plimsoll::compile
