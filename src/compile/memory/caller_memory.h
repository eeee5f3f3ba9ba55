#pragma once

#include <vector>

#include "compile/memory/lifetimes.h"
#include "compile/memory/reuse_rules.h"
#include "compile/memory/storage/joined_storages.h"
#include "compile/memory/timeline.h"
#include "graph/graph.h"

namespace plimsoll::compile {

// Puts storages of ours into memory of the caller's at times when that holds nothing: into an input
// that was read for the last time, or an output that is yet to be written. Largest storages first,
// each where it first fits; an operator that may work in place may write over the input that it
// reads last. Only for the inputs and outputs that `options.reuse` lists and that are used without
// a copy, and for runs on one stream.
//
// Adds their buffers to the problem, at fixed places in a region for each input or output that
// lends memory. Gives the storages that have their place so, by storage.
std::vector<bool> LendCallerMemory(const graph::Graph& graph, const JoinedStorages& joined,
                                   const Timeline& timeline, const StableValues& stable,
                                   const LifetimeOptions& options, const ReuseRules& rules,
                                   PlannedBuffers& planned);

}  // namespace plimsoll::compile
