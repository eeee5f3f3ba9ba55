#pragma once

#include <optional>
#include <vector>

#include "compile/passes/fuse/fusion_switches.h"
#include "graph/graph.h"

namespace plimsoll::compile {

// Brings what exporters write around attention and other reshuffling into a short form:
//   two Transposes in a row become one; views in a row become one Reshape;
//   a Transpose that moves only dimensions of 1 becomes a Reshape;
//   a Reshape whose target is computed, but is the same for every size, gets a constant target;
//   a Reshape of the leading dimensions goes before the Transpose of the last two, and one that
//   adds leading ones before any Transpose, so that it meets the views there.
// Gives how many nodes were changed.
FusionCounts MergeViews(graph::Graph& graph, const FusionSwitches& switches = {});

// The second input of a Reshape (without allowzero) that leads from one shape to the other,
// whatever the symbols in them stand for; nothing where there is none.
std::optional<std::vector<int64_t>> ReshapeTarget(const graph::Shape& from, const graph::Shape& to);

}  // namespace plimsoll::compile
