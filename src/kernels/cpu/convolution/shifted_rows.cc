#include "kernels/cpu/convolution/shifted_rows.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/convolution/shifted_rows.cc"
// clang-format off: the order matters
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/cpu/vector/vector_targets.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace plimsoll::kernels::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

constexpr hn::CappedTag<float, 16> kRowLanes;
constexpr auto kRowVector = static_cast<int64_t>(hn::MaxLanes(kRowLanes));

// kFilters times kVectors totals stay in registers.
template <int kFilters, int kVectors>
HWY_INLINE void RowTile(const ShiftedRows& rows, int64_t filter, int64_t first) {
  using Vector = hn::Vec<decltype(kRowLanes)>;
  const float* const from = rows.from + first;
  const float* const weights = rows.weights + filter * rows.weight_stride;
  float* const to = rows.to + filter * rows.to_stride + first;
  Vector totals[kFilters][kVectors];
#pragma GCC unroll 4
  for (int f = 0; f < kFilters; ++f) {
#pragma GCC unroll 12
    for (int v = 0; v < kVectors; ++v) totals[f][v] = hn::Zero(kRowLanes);
  }
  for (int64_t k = 0; k < rows.taps; ++k) {
    const float* const row = from + rows.offsets[k];
    Vector elements[kVectors];
#pragma GCC unroll 12
    for (int v = 0; v < kVectors; ++v) elements[v] = hn::LoadU(kRowLanes, row + v * kRowVector);
#pragma GCC unroll 4
    for (int f = 0; f < kFilters; ++f) {
      const Vector weight = hn::Set(kRowLanes, weights[f * rows.weight_stride + k]);
#pragma GCC unroll 12
      for (int v = 0; v < kVectors; ++v) {
        totals[f][v] = hn::MulAdd(weight, elements[v], totals[f][v]);
      }
    }
  }
  const int64_t count = std::min<int64_t>(rows.count - first, kVectors * kRowVector);
#pragma GCC unroll 4
  for (int f = 0; f < kFilters; ++f) {
    HWY_ALIGN float part[kVectors * kRowVector];
#pragma GCC unroll 12
    for (int v = 0; v < kVectors; ++v) {
      hn::Store(totals[f][v], kRowLanes, part + v * kRowVector);
    }
    float* const out = to + f * rows.to_stride;
    if (rows.accumulate) {
      for (int64_t i = 0; i < count; ++i) out[i] += part[i];
    } else {
      std::copy_n(part, count, out);
    }
  }
}

// What is left of a row takes the smallest tile that holds it.
template <int kFilters, int kVectors>
HWY_INLINE void RunFilters(const ShiftedRows& rows, int64_t filter) {
  static_assert(kRowVector <= kShiftedRowSlack);
  int64_t first = 0;
  for (; first + kVectors * kRowVector <= rows.count; first += kVectors * kRowVector) {
    RowTile<kFilters, kVectors>(rows, filter, first);
  }
  for (; first < rows.count; first += kRowVector) RowTile<kFilters, 1>(rows, filter, first);
}

void RunShiftedRows(const ShiftedRows& rows) {
  int64_t filter = 0;
  for (; filter + 4 <= rows.filters; filter += 4) RunFilters<4, 3>(rows, filter);
  for (; filter + 2 <= rows.filters; filter += 2) RunFilters<2, 5>(rows, filter);
  for (; filter < rows.filters; ++filter) RunFilters<1, 8>(rows, filter);
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
