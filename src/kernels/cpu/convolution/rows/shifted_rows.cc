#include "kernels/cpu/convolution/rows/shifted_rows.h"

#include <algorithm>

#include "kernels/cpu/vector/hot_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/convolution/rows/shifted_rows.cc"
// clang-format off: the order matters
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace plimsoll::kernels::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

constexpr hn::CappedTag<float, 16> kRowLanes;
constexpr auto kRowVector = static_cast<int64_t>(hn::MaxLanes(kRowLanes));

// kFilters times kVectors totals stay in registers. The vectors are neighbours in one row from
// column `first` on, or lie in rows of their own, which one vector holds, from row `first` on.
template <int kFilters, int kVectors, bool kOwnRows = false>
HWY_INLINE void RowTile(const ShiftedRows& rows, int64_t filter, int64_t first) {
  using Vector = hn::Vec<decltype(kRowLanes)>;
  const int64_t from_step = kOwnRows ? rows.from_row : kRowVector;
  const int64_t to_step = kOwnRows ? rows.to_row : kRowVector;
  const float* const from = rows.from + first * (kOwnRows ? from_step : 1);
  const float* const weights = rows.weights + filter * rows.weight_stride;
  float* const to = rows.to + filter * rows.to_stride + first * (kOwnRows ? to_step : 1);
  Vector totals[kFilters][kVectors];
#pragma GCC unroll 4
  for (int f = 0; f < kFilters; ++f) {
    const Vector start =
        rows.bias == nullptr ? hn::Zero(kRowLanes) : hn::Set(kRowLanes, rows.bias[filter + f]);
#pragma GCC unroll 12
    for (int v = 0; v < kVectors; ++v) totals[f][v] = start;
  }
  for (int64_t k = 0; k < rows.taps; ++k) {
    const float* const row = from + rows.offsets[k];
    Vector elements[kVectors];
#pragma GCC unroll 12
    for (int v = 0; v < kVectors; ++v) elements[v] = hn::LoadU(kRowLanes, row + v * from_step);
#pragma GCC unroll 4
    for (int f = 0; f < kFilters; ++f) {
      const Vector weight = hn::Set(kRowLanes, weights[f * rows.weight_stride + k]);
#pragma GCC unroll 12
      for (int v = 0; v < kVectors; ++v) {
        totals[f][v] = hn::MulAdd(weight, elements[v], totals[f][v]);
      }
    }
  }
#pragma GCC unroll 4
  for (int f = 0; f < kFilters; ++f) {
    float* const out = to + f * rows.to_stride;
#pragma GCC unroll 12
    for (int v = 0; v < kVectors; ++v) {
      const int64_t left = kOwnRows ? rows.count : rows.count - first - v * kRowVector;
      float* const place = out + v * to_step;
      if (left >= kRowVector) {
        if (rows.accumulate) totals[f][v] = hn::Add(totals[f][v], hn::LoadU(kRowLanes, place));
        hn::StoreU(totals[f][v], kRowLanes, place);
      } else if (left > 0) {
        const auto mask = hn::FirstN(kRowLanes, static_cast<size_t>(left));
        if (rows.accumulate) {
          totals[f][v] = hn::Add(totals[f][v], hn::MaskedLoad(mask, kRowLanes, place));
        }
        hn::BlendedStore(totals[f][v], mask, kRowLanes, place);
      }
    }
  }
}

// What is left of a row takes the smallest tile that holds it.
template <int kFilters, int kVectors>
HWY_INLINE void RunRest(const ShiftedRows& rows, int64_t filter, int64_t first) {
  if constexpr (kVectors > 1) {
    if (rows.count - first <= (kVectors - 1) * kRowVector) {
      return RunRest<kFilters, kVectors - 1>(rows, filter, first);
    }
  }
  RowTile<kFilters, kVectors>(rows, filter, first);
}

template <int kFilters, int kVectors>
HWY_INLINE void RunFilters(const ShiftedRows& rows, int64_t filter) {
  static_assert(kRowVector <= kShiftedRowSlack);
  int64_t first = 0;
  for (; first + kVectors * kRowVector <= rows.count; first += kVectors * kRowVector) {
    RowTile<kFilters, kVectors>(rows, filter, first);
  }
  if (first < rows.count) RunRest<kFilters, kVectors>(rows, filter, first);
}

template <int kFilters>
HWY_INLINE void RunOwnRows(const ShiftedRows& rows, int64_t filter) {
  int64_t y = 0;
  for (; y + 3 <= rows.rows; y += 3) RowTile<kFilters, 3, true>(rows, filter, y);
  if (rows.rows - y == 2) RowTile<kFilters, 2, true>(rows, filter, y);
  if (rows.rows - y == 1) RowTile<kFilters, 1, true>(rows, filter, y);
}

// Rows of one vector: with one at a time each sum would wait for the one before.
void RunShortRows(const ShiftedRows& rows) {
  int64_t filter = 0;
  for (; filter + 4 <= rows.filters; filter += 4) RunOwnRows<4>(rows, filter);
  for (; filter < rows.filters; ++filter) RunOwnRows<1>(rows, filter);
}

void RunRow(const ShiftedRows& rows) {
  int64_t filter = 0;
  for (; filter + 4 <= rows.filters; filter += 4) RunFilters<4, 3>(rows, filter);
  const int64_t left = rows.filters - filter;
  if (left == 3) RunFilters<3, 4>(rows, filter);
  if (left == 2) RunFilters<2, 5>(rows, filter);
  if (left == 1) RunFilters<1, 8>(rows, filter);
}

void RunShiftedRows(const ShiftedRows& rows) {
  if (rows.rows > 1 && rows.count <= kRowVector) return RunShortRows(rows);
  ShiftedRows row = rows;
  for (int64_t y = 0; y < rows.rows; ++y) {
    RunRow(row);
    row.from += rows.from_row;
    row.to += rows.to_row;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace plimsoll::kernels::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plimsoll::kernels::cpu {

HWY_EXPORT(RunShiftedRows);

void SumShiftedRows(const ShiftedRows& rows) { HWY_DYNAMIC_DISPATCH(RunShiftedRows)(rows); }

}  // namespace plimsoll::kernels::cpu
#endif
