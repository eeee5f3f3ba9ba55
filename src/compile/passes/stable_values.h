#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"

namespace plimsoll::compile {

// What keeps its address from the first run of a graph until it is unloaded: what a node with
// `fixed_address` makes, what a node that cannot take new addresses (`no_address_refresh`) reads
// and makes, and what is the same memory as one of these by `reference_output`. Constants are not
// listed: they never move.
struct StableValues {
  // By value, where it must not move: a name that tells it from every other value and is the same
  // for every set of shapes that the graph is compiled for. Empty: it may move.
  std::vector<std::string> keys;
  std::vector<graph::NodeId> demanded_by;  // by value: the node that asks for it

  bool Contains(graph::ValueId value) const { return !keys[value.index()].empty(); }
};

StableValues FindStableValues(const graph::Graph& graph);

// The name of an operand of a node that keeps its addresses: "sum input 1".
std::string OperandKey(const graph::Graph& graph, graph::NodeId node, bool input, size_t index);

}  // namespace plimsoll::compile
