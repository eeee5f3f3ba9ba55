#pragma once

#include <vector>

#include "graph/graph.h"
#include "kernels/host_value.h"
#include "plimsoll/base/status.h"

namespace plimsoll::kernels {

// Prepares a node's kernel for these inputs and runs it. `inputs` are as many as the node lists, of
// undefined type where one is left out; the types of the node's outputs in the graph say what it
// makes, as far as shape rules could tell. Gives one tensor per output. `deterministic` is the
// site's.
Result<std::vector<HostTensor>> RunOnce(const graph::Graph& graph, graph::NodeId id,
                                        const std::vector<HostTensor>& inputs,
                                        const AllocateTensor& allocate = AllocateOnHeap,
                                        bool deterministic = false);

}  // namespace plimsoll::kernels
