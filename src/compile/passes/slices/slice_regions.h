#pragma once

#include <vector>

#include "graph/graph.h"
#include "plimsoll/base/bytes.h"

namespace plimsoll::compile {

// Lets large tensors come to life slice by slice: the nodes that make one and those that make
// something smaller of it run several times, each time on a slice (of rows, or of channels), and
// the slices of what they make are put side by side without a copy. Less is alive at a time, and
// operands that every slice reads are read more often.
//
// `seeds` are tensors that would be better smaller, the most important first. Shapes must be
// static; new ones are inferred.
struct SliceSizes {
  int64_t slices = 2;  // of a region, at most
  int64_t least_rows = 1;
  int64_t least_channels = 1;
};
struct Sliced {
  int regions = 0;
  int declined = 0;  // others that slices would be too small of
  Bytes constants;   // of which slices are read from now on, and packed separately
};
Sliced SliceRegions(graph::Graph& graph, const std::vector<graph::ValueId>& seeds,
                    const SliceSizes& sizes);

}  // namespace plimsoll::compile
