#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "config/run_config.h"
#include "graph/graph.h"
#include "kernels/kernel.h"
#include "plimsoll/base/status.h"

namespace plimsoll::engine {

// The sizes that a model's inputs may have, beyond what its file says. Made before shapes are
// inferred; immutable after.
//
// compile_dynamic_mode opens every size: a static graph becomes one that is compiled for each set
// of shapes it meets. dynamic_inputs_shape_range opens the sizes that it gives as ranges and fixes
// those that it gives as numbers; `getnext` speaks of the first inputs in the model's order, `data`
// of the others in the alphabetical order of their names.
class InputRanges {
 public:
  InputRanges() = default;

  // Changes what the graph's inputs declare. Refuses ranges that are not one per input, or not one
  // per dimension (config.shape_range); then nothing is changed. Inputs that are variables (by
  // input; empty: none is) keep their sizes, and no range is given for them.
  static Result<InputRanges> Open(graph::Graph& graph, bool all_open,
                                  const std::optional<config::ShapeRanges>& ranges,
                                  const std::vector<bool>& variables = {});

  // Refuses sizes of one input that lie outside its range (run.range), naming the range.
  Status Check(size_t input, const kernels::Dims& dims) const;

  // What inferring shapes says of sizes that the file does not declare, told as what it is: the
  // model's own constants hold for other sizes. Errors of graphs that were not opened stay as they
  // are.
  Error Explain(Error error) const;

 private:
  struct Port {
    std::string name;
    std::string declared;                // as the file has it
    std::vector<config::DimRange> dims;  // empty: any
  };
  std::vector<Port> ports_;  // empty: nothing was opened
};

}  // namespace plimsoll::engine
