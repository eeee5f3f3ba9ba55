#pragma once

#include <string>

#include "graph/graph.h"

namespace plimsoll::graph {

// The graph as text that a person reads and a test compares: one line per input, a constant, a node
// and an output; bodies indented below their node. Constants show type, shape and, when small,
// their elements; attributes are in file order. The same graph always gives the same text.
//
//   graph
//     input %x: float32[1,n]
//     const %shape: int64[2] = [1, -1]
//     %Reshape_0: float32[1,n] = Reshape(%x, %shape)
//     output %Reshape_0
std::string TextForm(const Graph& graph);

// An attribute as it stands there.
std::string Text(const Attribute& attribute);

}  // namespace plimsoll::graph
