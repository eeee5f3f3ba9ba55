#pragma once

#include <optional>
#include <string>

#include "graph/graph.h"

namespace plimsoll::compile {

// Why a graph cannot be planned as a whole before it runs (a size that only data tells, a value
// that is no plain tensor); nothing when it can. Shapes must have been inferred.
std::optional<std::string> WhyNotPlannable(const graph::Graph& graph);
// The same for one node and its bodies.
std::optional<std::string> WhyNotPlannable(const graph::Graph& graph, graph::NodeId node);

}  // namespace plimsoll::compile
