#pragma once

#include <vector>

#include "graph/graph.h"
#include "kernels/host_value.h"
#include "kernels/kernel.h"

namespace plimsoll::compile {

// The site of a node's kernel, with the elements that shape inference knows of inputs that are no
// constants: they are there for as long as the object.
class NodeSite {
 public:
  NodeSite(const graph::Graph& graph, graph::NodeId id);
  NodeSite(const NodeSite&) = delete;
  NodeSite& operator=(const NodeSite&) = delete;

  kernels::KernelSite& site() { return site_; }

 private:
  kernels::KernelSite site_;
  std::vector<kernels::HostTensor> held_;
};

}  // namespace plimsoll::compile
