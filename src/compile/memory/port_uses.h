#pragma once

#include <string>
#include <vector>

#include "compile/plan_model.h"
#include "graph/graph.h"

namespace plimsoll::compile {

// What becomes of the caller's memory behind one input or output of the model.
struct PortUse {
  enum class How {
    kInPlace,     // kernels read and write it where it lies
    kBranchCopy,  // an output that a branch's result is copied into
    kCopied,      // copied as a whole, once per run
  };
  How how = How::kInPlace;
  std::string reason;  // why not in place

  bool in_place() const { return how == How::kInPlace; }
};

struct PortUses {
  std::vector<PortUse> inputs;  // in the model's order
  std::vector<PortUse> outputs;
};

// What the plan says of every input and output, for memory that is aligned to 32 bytes.
PortUses FindPortUses(const graph::Graph& graph, const PlannedBuffers& buffers);

}  // namespace plimsoll::compile
