#pragma once

#include <functional>
#include <span>
#include <vector>

#include "graph/graph.h"
#include "graph/operator_row.h"
#include "kernels/host_value.h"
#include "kernels/kernel.h"
#include "plimsoll/base/status.h"

namespace plimsoll::kernels {

// Runs a prepared kernel; the site's outputs have their shapes.
using RunPrepared =
    std::function<Status(const KernelSite& site, const Kernel& kernel, const KernelCall& call)>;

// A node's inputs, as many as it lists; null where one is left out.
using InputTensors = std::span<const HostTensor* const>;

// A node's kernel, and the site that it was made for.
struct PreparedNode {
  KernelSite site;
  KernelPointer kernel;
};

// Prepares a node's kernel for inputs of these types and sizes; its maker sees the elements of
// those in `known` alone. The types of the node's outputs in the graph say what it makes, as far as
// shape rules could tell. `deterministic` is the site's.
Result<PreparedNode> PrepareNode(const graph::Graph& graph, graph::NodeId id, InputTensors inputs,
                                 graph::InputSet known, bool deterministic);

// Runs it and gives one tensor per output. `run`: none: Kernel::Run.
Result<std::vector<HostTensor>> RunNode(const PreparedNode& node, InputTensors inputs,
                                        const AllocateTensor& allocate,
                                        const RunPrepared& run = {});

// Both, with every element known; inputs are of undefined type where one is left out.
Result<std::vector<HostTensor>> RunOnce(const graph::Graph& graph, graph::NodeId id,
                                        const std::vector<HostTensor>& inputs,
                                        const AllocateTensor& allocate = AllocateOnHeap,
                                        bool deterministic = false);

}  // namespace plimsoll::kernels
