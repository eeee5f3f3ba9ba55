#pragma once

#include <cstdint>

#include "plan/packing/packing.h"

namespace plimsoll::bench {

// A packing that is known to fit, cut from a full rectangle of `capacity` units by `sections`
// moments: until there are `items` pieces, one drawn at random is cut, across time or across
// addresses; then pieces are taken out or give up some of their room. The tighter, the harder.
struct CutShape {
  int items = 200;
  int64_t capacity = 1024;
  int sections = 100;
  double cut_time = 0.5;  // share of cuts across time: more of these give shorter lives
  double largest = 0.5;   // chance that the largest of a few drawn pieces is cut: evener sizes
  double pinwheel = 0;    // chance of a cut into five that no straight cuts can make
  double middle = 0;      // cuts keep this share of the piece on either side
  int64_t size_step = 1;  // cuts lie on multiples of it: the larger, the more equal sizes
  int64_t time_step = 1;  // likewise
  double shrink = 0;      // chance that a piece gives up some of its room
  double removed = 0;     // chance that a piece is taken out
  int64_t unit = 1024;    // bytes per unit of capacity
};
plan::Packing CutPacking(const CutShape& shape, uint64_t seed);

// A packing that is known to fit into `capacity` units, shaped like an accelerator's scratchpad:
// few long lives (weights, partial sums) among many short ones (tiles), each new buffer put into a
// gap that older ones left, often filling it.
struct ScratchpadShape {
  int items = 250;
  int64_t capacity = 1024;
  double long_lives = 0.15;  // share of buffers that outlive many others
  double filling = 0.7;      // chance that a buffer fills its gap
  int64_t unit = 1024;
};
plan::Packing ScratchpadPacking(const ScratchpadShape& shape, uint64_t seed);

// Lives like those of one step of training a deep network: each layer's activations live from its
// forward to its backward step, its weights' gradients from its backward step to the optimiser's
// step at the end of its group of layers, and every step has scratch that dies with it.
plan::Packing TrainingPacking(int64_t items, uint64_t seed);

}  // namespace plimsoll::bench
