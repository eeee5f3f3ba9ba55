#pragma once

#include "kernels/cpu/elementwise/elementwise.h"
#include "kernels/kernel.h"

namespace plimsoll::kernels::cpu {

// A function that a recurrent cell applies to its gates, with its numbers.
struct RecurrentActivation {
  UnaryLoop loop = nullptr;  // over float or double, as the site's data
  Coefficients coefficients;

  template <typename T>
  void Apply(T* row, int64_t count) const {
    loop(row, row, count, coefficients);
  }
};

// Attributes activations, activation_alpha and activation_beta of one direction, of which each has
// `defaults.size()` functions. Unsupported for a name that the standard does not have. Quantised
// layers, whose states become bytes in every step, have Sigmoid and Tanh to the last bit as ONNX
// Runtime has them: where a state lies between two bytes, that bit decides all that follows.
Result<std::vector<RecurrentActivation>> ReadRecurrentActivations(
    const KernelSite& site, std::span<const std::string_view> defaults, int64_t direction,
    bool quantized = false);

// Whether the first is the sigmoid and all others tanh, over float32.
bool AreSigmoidThenTanh(std::span<const RecurrentActivation> functions);

}  // namespace plimsoll::kernels::cpu
