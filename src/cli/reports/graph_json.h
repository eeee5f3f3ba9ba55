#pragma once

#include <string>

#include "graph/graph.h"

namespace plimsoll::cli {

// The graph as `inspect --graph --json` shows it: "inputs", "outputs" and "nodes", each node with
// its operator, what it reads and makes, its attributes as text and the body that it stands in.
std::string GraphJson(const graph::Graph& graph, const std::string& file);

}  // namespace plimsoll::cli
