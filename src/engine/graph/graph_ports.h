#pragma once

#include <span>
#include <string>
#include <vector>

#include "engine/graph/input_ranges.h"
#include "engine/run/port_checks.h"
#include "engine/run/ports.h"
#include "engine/run/run_batches.h"
#include "graph/graph.h"
#include "kernels/host_value.h"
#include "plimsoll/base/status.h"

namespace plimsoll::engine {

// The inputs and outputs of a graph, variables among them, and what a run may be given for them:
// tensors of their types, sizes inside their ranges, of one batch. Immutable; any thread may ask.
class GraphPorts {
 public:
  // The graph's shapes have been inferred and its batch labels spread.
  GraphPorts(const graph::Graph& graph, InputRanges ranges);

  const std::vector<Port>& inputs() const { return inputs_; }
  const std::vector<Port>& outputs() const { return outputs_; }
  const InputRanges& ranges() const { return ranges_; }
  const RunBatches& batches() const { return batches_; }
  bool takes_one_shape() const;  // every input is a tensor of fixed size
  // Some input has an open size besides its first, which is that of a batch.
  bool sizes_vary() const;

  // One tensor for each input. Where memory is not looked at, neither are inputs that are no
  // tensors, whose shapes say nothing.
  Status CheckInputs(std::span<const TensorView> inputs, Memory memory) const;
  Status CheckValues(std::span<const kernels::HostValue> inputs) const;
  // One tensor for each output of the compiled graph; those that a run of the batch does not make
  // are not looked at.
  Status CheckOutputs(std::span<const TensorView> outputs, const graph::Graph& compiled,
                      const std::string& batch) const;

 private:
  std::vector<Port> inputs_;
  std::vector<Port> outputs_;
  InputRanges ranges_;
  RunBatches batches_;
};

}  // namespace plimsoll::engine
