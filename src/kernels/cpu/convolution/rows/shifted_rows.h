#pragma once

#include <cstdint>

namespace plimsoll::kernels::cpu {

// Floats behind the last one of a row that SumShiftedRows may read; what they hold does not matter.
constexpr int64_t kShiftedRowSlack = 16;

// Sums of rows for several filters at once:
// to[f * to_stride + y * to_row + x] = bias[f] + the sum over k of
//     weights[f * weight_stride + k] * from[offsets[k] + y * from_row + x],
// added to what is there where `accumulate`; x below `count`, y below `rows`, k below `taps`; no
// bias is zeros.
struct ShiftedRows {
  const float* from = nullptr;
  const int64_t* offsets = nullptr;
  const float* weights = nullptr;
  int64_t weight_stride = 0;
  const float* bias = nullptr;
  int64_t taps = 0;
  int64_t filters = 0;
  int64_t count = 0;
  int64_t rows = 1;
  int64_t from_row = 0;
  float* to = nullptr;
  int64_t to_stride = 0;
  int64_t to_row = 0;
  bool accumulate = false;
};

void SumShiftedRows(const ShiftedRows& rows);

}  // namespace plimsoll::kernels::cpu
