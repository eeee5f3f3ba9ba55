#pragma once

#include <functional>
#include <vector>

#include "graph/graph.h"
#include "kernels/host_value.h"
#include "kernels/kernel.h"
#include "plimsoll/base/status.h"

namespace plimsoll::kernels {

// Runs a prepared kernel; the site's outputs have their shapes.
using RunPrepared =
    std::function<Status(const KernelSite& site, const Kernel& kernel, const KernelCall& call)>;

// Prepares a node's kernel for these inputs and runs it. `inputs` are as many as the node lists, of
// undefined type where one is left out; the types of the node's outputs in the graph say what it
// makes, as far as shape rules could tell. Gives one tensor per output. `deterministic` is the
// site's. `run`: none: Kernel::Run.
Result<std::vector<HostTensor>> RunOnce(const graph::Graph& graph, graph::NodeId id,
                                        const std::vector<HostTensor>& inputs,
                                        const AllocateTensor& allocate = AllocateOnHeap,
                                        bool deterministic = false, const RunPrepared& run = {});

}  // namespace plimsoll::kernels
