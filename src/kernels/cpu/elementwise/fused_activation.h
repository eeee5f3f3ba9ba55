#pragma once

#include "kernels/cpu/elementwise/elementwise.h"
#include "kernels/kernel.h"

namespace plimsoll::kernels::cpu {

// An element-wise function that another operator applies to its results before it stores them.
struct FusedActivation {
  enum class Kind {
    kNone,
    kRelu,
    kLeakyRelu,  // alpha: slope below zero
    kClip,       // alpha: least, beta: greatest
    kElu,        // alpha
    kSigmoid,
    kTanh,
    kSwish,        // x * sigmoid(alpha * x)
    kHardSigmoid,  // clip(alpha * x + beta, 0, 1)
    kHardSwish,    // x * clip(x / 6 + 0.5, 0, 1)
    kGelu,         // with erf; alpha: as Steps::gelu
    kGeluTanh,
    kMish,
  };
  Kind kind = Kind::kNone;
  float alpha = 0;
  float beta = 0;
  bool float_steps = false;  // those of ONNX Runtime

  UnaryLoop Float32Loop() const;  // null for none
  Coefficients coefficients() const { return {.alpha = alpha, .beta = beta}; }
};

// Attributes `activation` (a Kind without its k, or empty), `activation_alpha` and
// `activation_beta`, with the defaults of the ONNX operator of that name, and `activation_steps`.
Result<FusedActivation> ReadActivation(const KernelSite& site);

}  // namespace plimsoll::kernels::cpu
