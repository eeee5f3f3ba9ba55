#pragma once

#include <cstdint>

namespace plimsoll::kernels::cpu {

// Floats behind a row that SumPlane may read; what they hold does not matter.
constexpr int64_t kPlaneSlack = 16;

// Sums of one channel under one kernel:
// to[y * to_stride + x] = bias + the sum over (a, b) of
//     weights[a * weight_stride + b] * from[row_offsets[y * tap_rows + a] + column_offsets[b] + x],
// and residual[y * to_stride + x] where there is one, which may be `to` itself; y below `rows`, x
// below `columns`, a below `tap_rows`, b below `tap_columns`. A row offset below 0 is a row of
// zeros.
struct PlaneSums {
  const float* from = nullptr;
  const int64_t* row_offsets = nullptr;
  const int64_t* column_offsets = nullptr;
  const float* weights = nullptr;
  int64_t weight_stride = 0;
  int64_t tap_rows = 0;
  int64_t tap_columns = 0;
  float bias = 0;
  const float* residual = nullptr;
  int64_t rows = 0;
  int64_t columns = 0;
  float* to = nullptr;
  int64_t to_stride = 0;
};

void SumPlane(const PlaneSums& plane);

}  // namespace plimsoll::kernels::cpu
