#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "kernels/catalogue.h"
#include "kernels/kernel.h"
#include "plimsoll/base/status.h"

namespace plimsoll::kernels {

// The kernels of one kind of device, and what the compiler must know of them. A backend need not
// have every operator: on a device that the host cannot reach, nodes without a kernel run on the
// host (compile/placement).
//
// Immutable and thread-safe; one that is registered lives as long as the process.
class Backend {
 public:
  virtual ~Backend() = default;

  virtual std::string_view name() const = 0;  // for errors and reports
  // Whether there are kernels for the operator at all. Passes that make nodes of it ask first.
  virtual bool HasOperator(std::string_view domain, std::string_view name, int version) const = 0;
  // Whether there is a kernel for the node, with the element types and shapes that its values have.
  // What a backend says yes to, Prepare refuses only for what is wrong with the model.
  virtual bool Supports(const graph::Graph& graph, graph::NodeId node) const;
  // A kernel for a node that is supported. Inputs that the operator's row marks as host_inputs are
  // known (TensorInfo::data), or lie in memory that the host reaches when the kernel is called.
  virtual Result<KernelPointer> Prepare(KernelSite& site) const = 0;
  // As kernels::InPlacePairs, for this backend's kernels; usually what the operator allows.
  virtual std::vector<InPlacePair> InPlacePairs(const graph::Graph& graph,
                                                graph::NodeId node) const;
  // Whether the node's kernel does what OperatorFacts::grows_over_first_input says.
  virtual bool GrowsOverFirstInput(const graph::Graph&, graph::NodeId) const { return false; }
  // The layout that convolutions prefer: channels that lie side by side (kernels/blocking.h); 1:
  // row-major, which every kernel takes.
  virtual int channels_together() const { return 1; }
  // Whether its kernels work on halves (float16, bfloat16) by way of float32.
  virtual bool works_in_float32() const { return false; }
};

// The CPU's, which has every operator: for whatever lies in memory of the host.
const Backend& HostBackend();

// The backend of a kind of device: the one registered for it, else the CPU's.
const Backend& BackendFor(std::string_view device_kind);

// Devices of this kind use these kernels from now on. Fails (kernel.backend) where the kind has a
// backend already. One table for the process. Thread-safe.
Status RegisterBackend(std::string device_kind, std::unique_ptr<const Backend> backend);

// Code kernel.unsupported: the backend has no kernel for the site's node.
Error NoKernel(const KernelSite& site, std::string_view backend);

}  // namespace plimsoll::kernels
