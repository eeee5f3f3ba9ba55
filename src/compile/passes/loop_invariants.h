#pragma once

#include "compile/passes/fuse/fusion_switches.h"
#include "graph/graph.h"

namespace plimsoll::compile {

// Takes out of every Loop and Scan what each iteration hands to the next unchanged, as exporters of
// while loops write weights: the body reads the value from outside, and so does who reads it behind
// the loop. A constant is one inside the body from then on. Gives how many there were.
FusionCounts RemoveLoopInvariants(graph::Graph& graph, const FusionSwitches& switches = {});

}  // namespace plimsoll::compile
