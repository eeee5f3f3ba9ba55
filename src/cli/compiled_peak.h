#pragma once

#include <optional>
#include <vector>

#include "compile/input_shapes.h"
#include "compile/plan_model.h"
#include "graph/graph.h"
#include "plimsoll/base/bytes.h"

namespace plimsoll::cli {

// The feature map that a run of the model in one thread will take, kernels' workspaces included:
// the model is compiled as a session does it, but no weight is packed. Nothing where it is not
// known: weights are missing, sizes are open, an operator has no kernel.
std::optional<Bytes> CompiledPeak(graph::Graph graph,
                                  const std::vector<compile::ShapeArgument>& shapes,
                                  const compile::PlanOptions& options);

}  // namespace plimsoll::cli
