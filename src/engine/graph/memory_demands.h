#pragma once

#include "graph/graph.h"
#include "plimsoll/base/status.h"

namespace plimsoll::engine {

// Refuses (run.memory_attribute) a graph that is run node by node and asks for memory that only a
// plan gives: node by node each value lies where there is room when it is made.
Status CheckNodeByNode(const graph::Graph& graph);

}  // namespace plimsoll::engine
