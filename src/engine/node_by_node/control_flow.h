#pragma once

#include <functional>
#include <vector>

#include "graph/graph.h"
#include "kernels/host_value.h"
#include "plimsoll/base/status.h"

namespace plimsoll::engine {

// Runs a body once with these inputs and gives its outputs.
using BodyRunner = std::function<Result<std::vector<kernels::HostValue>>(
    graph::SubgraphId body, std::vector<kernels::HostValue> inputs)>;

// Whether an operator's work is to run bodies: If, Loop, Scan, SequenceMap.
bool IsControlFlow(const graph::Node& node);

// Runs such a node: fills in the site's outputs. Errors of a body pass through.
Status RunControlFlow(kernels::HostSite& site, const BodyRunner& run);

}  // namespace plimsoll::engine
