#pragma once

#include <vector>

#include "graph/graph.h"

namespace plimsoll::compile {

// Which values depend on constants only, by value index: they are worked out once, at load, and
// take no part in the feature map. A node without inputs counts, unless it draws random numbers.
std::vector<bool> FindConstantValues(const graph::Graph& graph);

// Which values are constants of the graph itself, by value index.
std::vector<bool> StoredConstants(const graph::Graph& graph);

// Constants that a running node reads or a body returns, in order of value; those made at load
// included.
std::vector<graph::ValueId> KeptConstants(const graph::Graph& graph,
                                          const std::vector<bool>& constant);

// Bytes held for as long as the model is loaded: the sum over KeptConstants.
Bytes WeightBytes(const graph::Graph& graph, const std::vector<bool>& constant);

}  // namespace plimsoll::compile
