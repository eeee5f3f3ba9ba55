#pragma once

#include "kernels/cpu/elementwise/elementwise.h"

namespace plimsoll::kernels::cpu {

// Further functions over float32 for the widest vectors that the machine has, with the errors and
// the treatment of NaN of Float32Functions.
struct Float32Mathematics {
  UnaryLoop absolute;
  UnaryLoop negative;
  UnaryLoop sign;
  UnaryLoop reciprocal;
  UnaryLoop floor;
  UnaryLoop ceil;
  UnaryLoop round;  // halves to even
  UnaryLoop log;
  UnaryLoop sin;
  UnaryLoop cos;
  UnaryLoop atan;
  UnaryLoop softplus;
  UnaryLoop softsign;
  UnaryLoop selu;              // beta * (alpha * (exp(x) - 1) below 0)
  UnaryLoop celu;              // alpha * (exp(x / alpha) - 1) below 0
  UnaryLoop thresholded_relu;  // 0 up to alpha
};

const Float32Mathematics& Float32Math();

}  // namespace plimsoll::kernels::cpu
