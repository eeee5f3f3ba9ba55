#pragma once

#include "compile/memory/lifetimes.h"
#include "compile/memory/storage/joined_storages.h"
#include "compile/memory/timeline.h"
#include "graph/graph.h"
#include "plimsoll/base/status.h"

namespace plimsoll::compile {

// Adds what must lie side by side to a problem whose other buffers are there already: the inputs of
// a node (continuous_input), its outputs (continuous_output), the outputs of the nodes of a named
// group, which is kept as one until the last of them was read. Values that can lie in their group
// do; any other gets a buffer there and a row of `group_copies`, which is what the group costs. A
// note tells both.
//
// Refused are groups that no placement can serve: an element would lie across its alignment
// (graph.continuous), an index is given twice, or members belong to different batches
// (graph.group).
Status AddGroups(const graph::Graph& graph, const JoinedStorages& joined, const Timeline& timeline,
                 PlannedBuffers& planned);

}  // namespace plimsoll::compile
