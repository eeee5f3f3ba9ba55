#pragma once

#include <vector>

#include "compile/compile_model.h"
#include "compile/passes/pass.h"
#include "compile/prepare_kernels.h"
#include "graph/graph.h"
#include "plimsoll/base/bytes.h"

namespace plimsoll::compile {

// One way to bring a graph to kernels and a plan, as far as it takes to know its peak.
struct Attempt {
  CompiledModel model;  // kernels to be looked at
  GroupedChannels layouts = GroupedChannels::kNowhere;
  int grouped = 0;                    // nodes that work on grouped tensors
  std::vector<Bytes> most_workspace;  // by node; empty: as much as kernels like
  Bytes lowered_by;                   // what smaller workspaces took off the peak
  int regions = 0;                    // that run slice by slice
  std::vector<int64_t> cuts;          // that made them, as SliceSizes has them
  Bytes sliced_by;                    // what that took off the peak
  int repeated = 0;                   // nodes that make a value once more
  Bytes repeated_by;                  // what that took off the peak
  std::vector<KernelChoice> choices;  // by node; empty: none
  TradesByNode trades;                // what kernels offer

  Bytes peak() const { return FeatureMapPeak(model.planned); }
  // The same without kernels and plan.
  Attempt Again() const;
};

// What kernels ask for, by node.
std::vector<Bytes> WorkspacesOf(const CompiledModel& model);

// Values that live at the highest steps, the largest first.
std::vector<graph::ValueId> LargeAtPeak(const CompiledModel& model);

// By node: the largest workspace with which no step takes more than `peak`. Steps of several
// streams are not told apart: there it is what kernels take now.
std::vector<Bytes> WorkspacesWithin(const CompiledModel& model, Bytes peak);

// Writes what the attempt did into its plan. `first` is the peak with grouped channels everywhere.
void AddTechniques(Attempt& attempt, Bytes first, std::optional<Bytes> plain_peak);

}  // namespace plimsoll::compile
