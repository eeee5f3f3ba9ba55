#pragma once

#include <vector>

#include "compile/memory/storage/variable_updates.h"
#include "compile/placement/target.h"
#include "graph/graph.h"

namespace plimsoll::compile {

// Whether the host must have the elements of a node's input when the node runs: a condition, or an
// axis, shape or scale that is neither a constant nor known by shape inference.
bool NeedsOnHost(const graph::Graph& graph, const graph::Node& node, size_t input);

// By node: whether it is to run on the host, on a device out of its reach. These are
// - nodes that ask for memory of the host,
// - nodes that the backend has no kernel for, but the host has,
// - small integer and bool arithmetic over constants, inputs of the model and what other such nodes
//   make, that nobody reads but these and the operands of NeedsOnHost: so it costs no transfer.
//   What a variable holds (`updates`) lies on the device.
// Shapes must have been inferred. Linear in nodes and operands.
std::vector<bool> FindHostNodes(const graph::Graph& graph, const Target& target,
                                const std::vector<VariableUpdate>& updates);

}  // namespace plimsoll::compile
