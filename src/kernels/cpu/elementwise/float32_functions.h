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
  // The same by ONNX Runtime's steps, each rounded to float32 as there. Results are its to the last
  // bit; errors are below 1e-6 of the largest results, not of each.
  struct Steps {
    UnaryLoop sigmoid;
    UnaryLoop gelu;  // of x * sqrt(1 / 2); with alpha 1 of x / sqrt(2)
    UnaryLoop tanh_gelu;
    UnaryLoop swish;
  };
  Steps steps;
};

const Float32Functions& Float32();

}  // namespace plimsoll::kernels::cpu
