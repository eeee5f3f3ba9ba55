#pragma once

#include "compile/passes/fuse/fusion_switches.h"
#include "graph/graph.h"

namespace plimsoll::compile {

// Nodes over float16 and bfloat16 work on float32 instead: what passes between them is not rounded,
// constants are widened once, and every pass and kernel for float32 serves them. Casts stand where
// a half comes in or must go out: inputs, outputs, what a node that stays as it is reads or makes.
// Where the file itself casts to float16, nodes that work on float32 read what it was given;
// another Cast, and what only moves elements, reads the rounded halves. Dead code is left behind.
//
// Nodes that carry bodies, draw at random, grow a cache in place, or ask for special memory stay as
// they are. So do nodes that only move elements, where the elements come as halves or are returned
// as such: a row of a table of halves is widened, never the table.
FusionCounts WidenHalves(graph::Graph& graph, const FusionSwitches& switches = {});

}  // namespace plimsoll::compile
