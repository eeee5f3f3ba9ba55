#pragma once

#include <span>
#include <vector>

#include "cli/inputs/model_inputs.h"
#include "engine/session.h"
#include "graph/graph.h"
#include "kernels/host_value.h"
#include "plimsoll/base/status.h"

namespace plimsoll::cli {

// What a training run is fed with, step by step. An input whose array has one dimension more than
// the model's, in front, is a row of batches: step i takes batch i modulo their number. Any other
// is the same at each step.
class TrainingInputs {
 public:
  // For every input of the graph, as MakeInputs.
  static Result<TrainingInputs> Make(const graph::Graph& graph,
                                     const std::vector<InputArgument>& arguments,
                                     const std::vector<compile::ShapeArgument>& shapes,
                                     const InputSettings& settings = {});

  // From now on each step is given copies, which it may write over.
  Status CopyForEachStep();

  // The inputs of a step, until this is asked again.
  std::span<const TensorView> At(int64_t step);

 private:
  struct Input {
    kernels::HostTensor tensor;
    int64_t batches = 0;  // 0: the same at each step
  };

  std::vector<Input> inputs_;
  std::vector<TensorView> tensors_;
  std::vector<kernels::HostTensor> copies_;  // empty: steps read the inputs themselves
};

}  // namespace plimsoll::cli
