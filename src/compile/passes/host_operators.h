#pragma once

#include <vector>

#include "graph/graph.h"

namespace plimsoll::compile {

// Whether a node is work for the host: an AI CPU operator of the seed. These are operators on
// sequences, optionals and texts, and index and shape arithmetic: Shape and Size, and whatever
// reads and makes nothing but int32, int64 and bool tensors. All others are AI Core operators.
// Types must have been inferred.
bool IsHostOperator(const graph::Graph& graph, graph::NodeId node);

// The host operators of the root body that can run in parallel with some other operator: it neither
// needs what they make nor makes what they need. By node.
std::vector<bool> IndependentHostOperators(const graph::Graph& graph);

// Gives those a stream of their own (ac_parallel_enable); tells how many. Leaves a graph alone that
// has streams already, or branches, or nodes whose memory is special.
int MoveHostOperatorsToOwnStream(graph::Graph& graph);

}  // namespace plimsoll::compile
