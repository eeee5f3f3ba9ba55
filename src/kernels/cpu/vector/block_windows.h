#pragma once

#include <cstdint>

namespace plimsoll::kernels::cpu {

// One row of sums of a block of channels, each under a kernel of its own; `block` channels lie side
// by side at every place. For x below `columns` and each channel l of the block:
// to[x][l] = bias[l] + the sum over the taps of weights[tap][l] * the element that the tap meets,
// and residual[x][l] where there is one, which may be `to` itself. Taps outside of the data meet
// zeros. Planes and rows of taps are those that meet the data: there are `tap_planes` from
// `from` on, `plane_step` floats apart, and `tap_rows` of each, `row_step` floats apart.
struct BlockWindow {
  int64_t block = 0;  // 8 or 16
  const float* from = nullptr;
  int64_t tap_planes = 1;
  int64_t plane_step = 0;
  int64_t tap_rows = 1;
  int64_t row_step = 0;
  int64_t tap_columns = 1;
  const float* weights = nullptr;  // of the first tap that meets the data
  int64_t weight_plane = 0;        // floats from plane to plane of taps
  int64_t weight_row = 0;
  int64_t input_columns = 0;
  int64_t column_stride = 1;
  int64_t column_dilation = 1;
  int64_t left = 0;
  const float* bias = nullptr;
  const float* residual = nullptr;
  int64_t columns = 0;
  float* to = nullptr;
};

void SumBlockWindow(const BlockWindow& window);

}  // namespace plimsoll::kernels::cpu
