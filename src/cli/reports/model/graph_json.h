#pragma once

#include <string>

#include "cli/answer.h"
#include "graph/graph.h"

namespace plimsoll::cli {

// [{"name", "type"}], and null where an optional one is left out.
Json TypedNames(const graph::Graph& graph, const std::vector<graph::ValueId>& values);

// The graph as `inspect --graph --json` shows it, {"models": [one]}: "inputs", "outputs" and
// "node_list", each node with its operator, what it reads and makes, its attributes as text and the
// body that it stands in.
Json GraphJson(const graph::Graph& graph, const std::string& file);

}  // namespace plimsoll::cli
