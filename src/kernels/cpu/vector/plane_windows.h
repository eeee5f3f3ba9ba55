#pragma once

#include <cstdint>

namespace plimsoll::kernels::cpu {

// Sums of one plane under one kernel, read where the plane lies; what the kernel meets outside of
// it counts as zeros. For y below `rows` and x below `columns`:
// to[y * columns + x] = bias + the sum over (a, b) of weights[a * tap_columns + b] *
//     from[y * row_stride + a * row_dilation - top][x * column_stride + b * column_dilation - left]
// and residual[y * columns + x] where there is one, which may be `to` itself.
struct PlaneWindow {
  const float* from = nullptr;
  int64_t input_rows = 0;
  int64_t input_columns = 0;
  const float* weights = nullptr;
  int64_t tap_rows = 1;
  int64_t tap_columns = 1;
  int64_t row_stride = 1;
  int64_t column_stride = 1;  // 1 or 2
  int64_t row_dilation = 1;
  int64_t column_dilation = 1;
  int64_t top = 0;
  int64_t left = 0;
  float bias = 0;
  const float* residual = nullptr;
  int64_t rows = 0;
  int64_t columns = 0;
  float* to = nullptr;
};

void SumPlaneWindow(const PlaneWindow& plane);

}  // namespace plimsoll::kernels::cpu
