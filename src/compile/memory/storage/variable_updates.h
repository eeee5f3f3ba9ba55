#pragma once

#include <string>
#include <vector>

#include "compile/memory/storage/storages.h"
#include "compile/memory/timeline.h"
#include "graph/graph.h"
#include "kernels/backend.h"
#include "plimsoll/base/status.h"

namespace plimsoll::compile {

// A variable of the model: a run leaves the memory of the root's input number `input` with the
// value of its output number `output`, which is of the same type and shape, or larger where that
// memory has room for it.
struct VariableUpdate {
  size_t input = 0;
  size_t output = 0;
  bool grows = false;
};

// How a plan does one update.
struct PlannedUpdate {
  VariableUpdate ports;
  Bytes bytes;
  bool in_place = false;  // the node that makes the new value writes it over the old one
  std::string reason;     // where not: why it is copied when the run ends
};

// Lets no update's new value be the old value of another variable: it becomes a copy of it, made at
// the start of the run. So updates can be carried out in any order.
void SeparateUpdates(graph::Graph& graph, const std::vector<VariableUpdate>& updates);

// By value: whether it is the new value of a variable.
std::vector<bool> NewValues(const graph::Graph& graph, const std::vector<VariableUpdate>& updates);

// Makes the old and the new value of a variable one storage where the nodes of the root, in their
// order, read the old value for the last time before the new one is first written, or as it is
// written by a kernel that can do so in place. The nodes that write then stand in
// `storages.overwrites`, and a schedule keeps them behind the readers. Other new values are held
// until the run ends, to be copied. `backend` says which kernels work in place. Linear in nodes and
// values.
std::vector<PlannedUpdate> JoinUpdates(const graph::Graph& graph,
                                       const std::vector<VariableUpdate>& updates,
                                       Storages& storages,
                                       const kernels::Backend& backend = kernels::HostBackend());

// Fails where the order reads an old value after it was overwritten: a bug of ours.
Status VerifyUpdates(const graph::Graph& graph, const Storages& storages, const Timeline& timeline);

}  // namespace plimsoll::compile
