#pragma once

#include <vector>

#include "compile/memory/storage/joined_storages.h"
#include "compile/memory/timeline.h"
#include "graph/graph.h"

namespace plimsoll::compile {

// What steps of one stream wait for on other streams, in the order of the steps that wait: a node
// that reads waits for those who wrote, and one that writes for those who read or wrote the same
// bytes before, in the timeline's order. A node with bodies waits, and is waited for, as a whole.
// A wait that follows from an earlier one of the same two streams is left out. The plan counts on
// these waits and no others, and a run makes an event of each.
//
// Linear in the accesses, where nodes write what others have read.
std::vector<StreamWait> FindStreamWaits(const graph::Graph& graph, const JoinedStorages& joined,
                                        const Timeline& timeline);

}  // namespace plimsoll::compile
