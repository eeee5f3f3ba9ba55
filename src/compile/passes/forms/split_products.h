#pragma once

#include "compile/passes/fuse/fusion_switches.h"
#include "graph/graph.h"

namespace plimsoll::compile {

// Queries, keys and values often come from one product: its columns are seen as [3, ...], that axis
// is moved to the front and each third is taken there. Takes the columns first (Slice), so that no
// Transpose moves all three, and each meets the nodes that read it.
FusionCounts TakeColumns(graph::Graph& graph, const FusionSwitches& switches = {});

// A product with constant weights whose columns are read in parts alone (Split, Slice) becomes one
// product for each part, all of them over the same weights: nothing is copied out of the whole.
FusionCounts SplitProducts(graph::Graph& graph, const FusionSwitches& switches = {});

}  // namespace plimsoll::compile
