#pragma once

#include <vector>

#include "graph/graph.h"

namespace plimsoll::compile {

// Lets what lies between two products come to life in slices of its channels, or of its heads:
//   y = (f(x U)) D + r   is   y1 = f(x U1) D1 + r,  y2 = f(x U2) D2 + y1, ...
// where U1, U2 are columns of U and D1, D2 the rows of D that meet them. f works on each channel by
// itself, or is attention, which works on each head by itself. Weights are read once all the same,
// and the sums are kept in the memory of y.
//
// `seeds` are tensors that would be better smaller. Shapes must be static; new ones are inferred.
struct SumSlices {
  int64_t slices = 0;  // of a region; 0: two, or three where halves could not be halved again
  // Of a slice: with fewer, operands and sums are read too often. Half of it will do where
  // attention over many keys is most of the work.
  int64_t least_channels = 1;
};
// Gives how many regions were cut.
int SliceSums(graph::Graph& graph, const std::vector<graph::ValueId>& seeds,
              const SumSlices& sizes);

}  // namespace plimsoll::compile
