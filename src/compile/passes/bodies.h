#pragma once

#include <vector>

#include "graph/graph.h"

namespace plimsoll::compile {

// Every value that running the node reads: its inputs and, where it carries bodies, what these read
// from outside. Each once, in order of first use.
std::vector<graph::ValueId> ReadsOf(const graph::Graph& graph, graph::NodeId node);

// Bytes that a value takes in a plan: a dimension that is not known counts as 1 a symbol, so that
// `past + 1` counts as 2. Strings, sequences and other values that live on the host count 0.
Bytes PlannedSize(const graph::ValueType& type);

}  // namespace plimsoll::compile
