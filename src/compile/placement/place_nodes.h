#pragma once

#include <vector>

#include "compile/memory/storage/variable_updates.h"
#include "compile/placement/target.h"
#include "graph/graph.h"
#include "plimsoll/base/bytes.h"

namespace plimsoll::compile {

// Copies between the device and the host inside a run, for a run that takes every branch.
struct HostTransfers {
  int64_t host_nodes = 0;  // that run on the host
  int64_t fetches = 0;     // from the device to the host
  Bytes fetched;
  int64_t sends = 0;  // from the host to the device
  Bytes sent;
};

// Says for every node whether the device or the host runs it (FindHostNodes), and puts a Transfer
// where a value made on one side is read on the other: just before its first reader, in the body of
// that reader, so that a branch that is not taken costs none. What the host reads of an input of
// the model is copied from where the caller has it. Outputs of a body are on the device, but
// for the condition by which a loop goes on.
//
// Host nodes carry memory_type=host, so that what they make lies in the plan's host region. Does
// nothing where the host reaches the device. Shapes must have been inferred; ids stay valid.
void PlaceNodes(graph::Graph& graph, const Target& target,
                const std::vector<VariableUpdate>& updates);

// What a placed graph costs. Inputs of the model that the caller has on the host cost nothing.
HostTransfers CountHostTransfers(const graph::Graph& graph, const Target& target,
                                 const std::vector<VariableUpdate>& updates);

}  // namespace plimsoll::compile
