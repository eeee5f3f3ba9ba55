#pragma once

#include "kernels/cpu/elementwise/elementwise.h"

namespace plimsoll::kernels::cpu {

// Functions over float32 for the widest vectors that the machine has. Errors are below 1e-6 of the
// result, over the whole range and for subnormal results too; NaN gives NaN.
struct Float32Functions {
  UnaryLoop square;
  UnaryLoop cube;
  UnaryLoop square_root;
  UnaryLoop exp;
  UnaryLoop erf;
  UnaryLoop tanh;
  UnaryLoop sigmoid;
  UnaryLoop gelu;
  UnaryLoop tanh_gelu;
  UnaryLoop swish;  // x * sigmoid(alpha * x)
  UnaryLoop relu;
  UnaryLoop leaky_relu;    // alpha * x below 0
  UnaryLoop hard_sigmoid;  // alpha * x + beta, clipped to 0 and 1
  UnaryLoop hard_swish;    // x * hard_sigmoid(x)
  UnaryLoop clip;          // alpha to beta
  UnaryLoop elu;           // alpha * (exp(x) - 1) below 0
  UnaryLoop mish;          // x * tanh(log(1 + exp(x)))
  // Of rational_math-inl.h, with absolute errors below 4e-7.
  UnaryLoop rational_tanh;
  UnaryLoop rational_sigmoid;
};

const Float32Functions& Float32();

}  // namespace plimsoll::kernels::cpu
