#pragma once

#include "compile/passes/fuse/fusion_patterns.h"
#include "compile/passes/fuse/fusion_switches.h"
#include "graph/graph.h"
#include "kernels/backend.h"
#include "plimsoll/base/status.h"

namespace plimsoll::compile {

// Rewrites that hold whatever the sizes of symbolic dimensions turn out to be: constants worked
// out, dead and repeated nodes dropped, neighbours fused, as far as the patterns are on and into
// operators that the backend has. Shapes must have been inferred; they are correct for every value
// that is left. The graph holds only what it still needs afterwards, so ids change. Adds what it
// found to `counts`.
Status Simplify(graph::Graph& graph, FusionCounts& counts, const FusionSwitches& switches = {},
                const kernels::Backend& backend = kernels::HostBackend());

// Where tensors take the form that convolutions are fastest on (GroupChannels).
enum class GroupedChannels { kWherePossible, kWhereFilled, kNowhere };

// Chooses layouts for one set of sizes, all shapes static, of a graph that has been simplified: as
// the backend prefers them. Gives how many nodes work on grouped tensors.
Result<int> ChooseLayouts(graph::Graph& graph, GroupedChannels where, FusionCounts& counts,
                          const FusionSwitches& switches = {},
                          const kernels::Backend& backend = kernels::HostBackend());

}  // namespace plimsoll::compile
