#pragma once

#include <optional>
#include <vector>

#include "graph/infer_context.h"

namespace plimsoll::graph::operators {

// A body that runs again and again and hands some of its results to its next run: inputs from
// `first_input` on take, run after run, what outputs from `first_output` on gave.
struct IteratedBody {
  SubgraphId id;
  std::vector<ValueType> inputs;                 // of the first run
  std::vector<std::optional<Content>> contents;  // of the inputs, where they hold in every run
  size_t first_input = 0;
  size_t first_output = 0;
  size_t carried = 0;
};

// Infers the body with input types that hold in every run: what changes from run to run becomes an
// unknown dimension, at worst an unknown rank. Leaves those types in `body.inputs` and gives the
// types of the outputs. Infers the body four times at most.
Result<std::vector<ValueType>> InferEveryIteration(InferContext& context, IteratedBody& body);

}  // namespace plimsoll::graph::operators
