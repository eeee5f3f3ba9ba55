#pragma once

#include <vector>

#include "graph/graph.h"

namespace plimsoll::compile {

// Lets large tensors come to life slice by slice: the nodes that make one and those that make
// something smaller of it run several times, each time on a slice (of rows, or of channels), and
// the slices of what they make are put side by side without a copy. Less is alive at a time, and
// operands that every slice reads are read more often.
//
// `seeds` are tensors that would be better smaller, the most important first. Gives how many
// regions were sliced. Shapes must be static; new ones are inferred.
int SliceRegions(graph::Graph& graph, const std::vector<graph::ValueId>& seeds, int64_t slices);

}  // namespace plimsoll::compile
