#pragma once

#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace plimsoll::kernels {

// Which input's memory an output may be written into while the node runs: the kernel reads each
// element of that input before, or as, it writes the output there.
struct InPlacePair {
  int output = 0;
  int input = 0;
};

// The pairs that the node's kernel allows for its types and shapes, best first. Whether the input
// is still needed is the planner's business. Empty for operators without a kernel of ours.
std::vector<InPlacePair> InPlacePairs(const graph::Graph& graph, graph::NodeId node);

// Whether the same inputs always give the same outputs, so that a node with constant inputs can be
// worked out once, at load.
bool IsDeterministic(const graph::Node& node);

}  // namespace plimsoll::kernels
