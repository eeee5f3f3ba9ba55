#pragma once

#include "graph/graph.h"
#include "kernels/backend.h"

namespace plimsoll::compile {

// The device that a model is compiled for.
struct Target {
  const kernels::Backend* backend = &kernels::HostBackend();
  bool host_reachable = true;  // the host reads and writes the device's memory where it lies

  // Whether the node runs on the host, in memory of the host: it asks for that memory
  // (plimsoll.memory_type=host, or PlaceNodes found that it should), for nothing else that is
  // special, and the device is out of the host's reach.
  bool RunsOnHost(const graph::Node& node) const;
  // The kernels of a node.
  const kernels::Backend& BackendOf(const graph::Node& node) const {
    return RunsOnHost(node) ? kernels::HostBackend() : *backend;
  }
};

// A copy between memory of the device and the host's: where its output lies tells the direction.
bool IsTransfer(const graph::Node& node);

// Whether nothing that the node asks of its memory keeps it from the host.
bool MayRunOnHost(const graph::Node& node);

}  // namespace plimsoll::compile
