#pragma once

#include "kernels/cpu/elementwise/fused_activation.h"
#include "kernels/cpu/vector/float_rows.h"

namespace plimsoll::kernels::cpu {

// What a convolution does to a row of its sums: bias, residual and activation.
struct RowFinish {
  UnaryLoop activation = nullptr;
  Coefficients coefficients;

  explicit RowFinish(const FusedActivation& fused)
      : activation(fused.Float32Loop()), coefficients(fused.coefficients()) {}

  // The residual may be left out; its elements are `step` apart.
  void Apply(float bias, const float* residual, int64_t step, int64_t count, float* row) const {
    if (bias != 0) RowAffine(row, count, 1.0f, bias, row);
    if (residual != nullptr && step == 1) {
      RowAddTo(residual, count, 1.0f, row);
    } else if (residual != nullptr) {
      for (int64_t i = 0; i < count; ++i) row[i] += residual[i * step];
    }
    if (activation != nullptr) activation(row, row, count, coefficients);
  }
};

}  // namespace plimsoll::kernels::cpu
