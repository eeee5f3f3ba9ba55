#pragma once

#include <vector>

#include "compile/memory/storage/variable_updates.h"
#include "graph/graph.h"
#include "plimsoll/base/status.h"

namespace plimsoll::compile {

inline constexpr size_t kMostStreams = 64;

// Makes the streams that nodes ask for (plimsoll.stream) streams that a run can have: numbers
// become dense from 0, in their order, and the nodes of a body run on the stream of the node that
// carries it. Refuses (graph.stream) a node of a body that asks for another one, more than
// kMostStreams streams, and several streams in a graph that updates variables, whose steps must run
// in one order. Doing it again changes nothing. Linear.
Status SettleStreams(graph::Graph& graph, const std::vector<VariableUpdate>& updates = {});

}  // namespace plimsoll::compile
