#pragma once

#include <vector>

#include "compile/memory/storage/storages.h"
#include "compile/order/schedule.h"
#include "graph/graph.h"
#include "kernels/backend.h"

namespace plimsoll::compile {

// A body as the order search sees it. Row i of `schedule.nodes` is `nodes[i]`; values keep their
// indices. Behind them come values that stand for parts of storages (StorageParts). Nodes that
// depend on constants only are left out. A node with bodies is one row: what its bodies read it
// reads, what they need inside is its workspace. `workspaces` are what kernels ask for, by node;
// empty: nothing. `backend` says which kernels work in place.
struct BodySchedule {
  Schedule schedule;
  std::vector<graph::NodeId> nodes;
  std::vector<graph::ValueId> written_by_part;  // the graph's value behind each of those, if any

  graph::ValueId ValueAt(ValueRow index) const {
    const auto at = static_cast<size_t>(index);
    const size_t own = schedule.values.size() - written_by_part.size();
    return at < own ? graph::ValueId(at) : written_by_part[at - own];
  }
};

// The nodes of the body's schedule alone.
std::vector<graph::NodeId> NodesOfSchedule(const graph::Graph& graph,
                                           const std::vector<bool>& constant,
                                           graph::SubgraphId body);

BodySchedule BuildSchedule(const graph::Graph& graph, const Storages& storages,
                           const std::vector<bool>& constant, graph::SubgraphId body, bool in_place,
                           const std::vector<Bytes>& workspaces = {},
                           const kernels::Backend& backend = kernels::HostBackend());

}  // namespace plimsoll::compile
