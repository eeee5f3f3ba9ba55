#pragma once

#include <cstdint>

#include "plan/packing.h"

namespace plimsoll::bench {

// A packing that is known to fit, cut from a full rectangle of `capacity` units by `sections`
// moments: until there are `items` pieces, one drawn at random is cut, across time or across
// addresses; then each piece gives up some of its room. The tighter, the harder.
struct CutShape {
  int items = 200;
  int64_t capacity = 1024;
  int sections = 100;
  double cut_time = 0.5;  // share of cuts across time: more of these give shorter lives
  double largest = 0.5;   // chance that the largest of a few drawn pieces is cut: evener sizes
  double shrink = 0;      // chance that a piece gives up some of its room
  int64_t unit = 1024;    // bytes per unit of capacity
};
plan::Packing CutPacking(const CutShape& shape, uint64_t seed);

// Lives like those of one step of training a deep network: each layer's activations live from its
// forward to its backward step, its weights' gradients from its backward step to the optimiser's
// step at the end of its group of layers, and every step has scratch that dies with it.
plan::Packing TrainingPacking(int64_t items, uint64_t seed);

}  // namespace plimsoll::bench
