#pragma once

#include "kernels/cpu/elementwise/elementwise.h"

namespace plimsoll::kernels::cpu {

// Loops over pairs of float32 for the widest vectors that the machine has. Of max and min, a NaN on
// either side wins.
struct Float32PairLoops {
  BinaryLoop add;
  BinaryLoop subtract;
  BinaryLoop multiply;
  BinaryLoop divide;
  BinaryLoop max;
  BinaryLoop min;
  BinaryLoop slope;  // the second one times the first one where that is below zero
};

const Float32PairLoops& Float32Pairs();

}  // namespace plimsoll::kernels::cpu
