#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compile/plan_model.h"
#include "graph/graph.h"

namespace plimsoll::engine {

// "layer1.0.conv2" for "layer1.0.conv2.weight"; empty where the name has no path.
std::string ModuleOfWeight(std::string_view name);

// The module of each step: the path in its node's own name ("conv1" of "conv1/Conv"), else that of
// a weight that it reads, else that of the step before.
std::vector<std::string> ModulesOf(const graph::Graph& graph, const compile::Timeline& timeline);

}  // namespace plimsoll::engine
