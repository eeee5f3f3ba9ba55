#pragma once

#include <atomic>
#include <functional>
#include <vector>

#include "graph/graph.h"
#include "kernels/host_value.h"
#include "plimsoll/base/status.h"

namespace plimsoll::engine {

// Runs a graph node by node: each node's shapes are worked out, its outputs taken from `allocate`
// and its kernel prepared when the walk reaches it, and what nobody reads any more is given back at
// once. The way for graphs whose sizes only data tells, for sequences, optionals and strings, and
// for working out constants at load.
//
// One run at a time an object. A failed run leaves nothing behind.
class Interpreter {
 public:
  explicit Interpreter(graph::Graph graph);

  struct Options {
    kernels::AllocateTensor allocate = kernels::AllocateOnHeap;
    const std::atomic<bool>* cancelled = nullptr;  // looked at between nodes
    // Gives a constant where kernels may read it; asked once for each that a run reaches.
    std::function<Result<kernels::HostTensor>(const graph::ConstantTensor& constant)> hold =
        kernels::ToHostTensor;
    // Told of each value as it is made.
    std::function<void(graph::ValueId, const kernels::HostValue&)> observe = {};
  };

  // One value for each input of the graph, in order; gives one for each output.
  Result<std::vector<kernels::HostValue>> Run(std::vector<kernels::HostValue> inputs,
                                              const Options& options);

 private:
  using Values = std::vector<kernels::HostValue>;

  Result<Values> RunBody(graph::SubgraphId id, Values inputs);
  Status RunNode(graph::NodeId id);
  Status RunOnHostValues(graph::NodeId id);
  Status RunKernel(graph::NodeId id);
  Status LoadConstant(graph::ValueId id);
  void Put(graph::ValueId id, kernels::HostValue value);
  Values InputsOf(graph::NodeId id) const;

  graph::Graph graph_;  // types and contents of values change as the walk learns them
  std::vector<std::vector<graph::ValueId>> last_reads_;  // by node: what is dead once it has run
  Values values_;                                        // by value
  Options options_;
};

}  // namespace plimsoll::engine
