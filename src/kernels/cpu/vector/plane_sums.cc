#include "kernels/cpu/vector/plane_sums.h"

#include <algorithm>

#include "kernels/cpu/vector/hot_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/vector/plane_sums.cc"
// clang-format off: the order matters
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace plimsoll::kernels::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

constexpr hn::CappedTag<float, 16> kPlaneLanes;
constexpr auto kPlaneVector = static_cast<int64_t>(hn::MaxLanes(kPlaneLanes));

// kRows times kVectors totals stay in registers; the last vector ends where the row does.
template <int kRows, int kVectors>
HWY_INLINE void PlaneTile(const PlaneSums& plane, int64_t y, int64_t x) {
  using Vector = hn::Vec<decltype(kPlaneLanes)>;
  Vector totals[kRows][kVectors];
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) totals[r][v] = hn::Set(kPlaneLanes, plane.bias);
  }
  for (int64_t a = 0; a < plane.tap_rows; ++a) {
    const float* const weights = plane.weights + a * plane.weight_stride;
    const int64_t* const offsets = plane.row_offsets + y * plane.tap_rows + a;
    bool whole = true;
    for (int r = 0; r < kRows; ++r) whole = whole && offsets[r * plane.tap_rows] >= 0;
    if (whole) {
      const float* from[kRows];
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) from[r] = plane.from + offsets[r * plane.tap_rows] + x;
      for (int64_t b = 0; b < plane.tap_columns; ++b) {
        const Vector weight = hn::Set(kPlaneLanes, weights[b]);
        const int64_t shift = plane.column_offsets[b];
#pragma GCC unroll 4
        for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
          for (int v = 0; v < kVectors; ++v) {
            totals[r][v] = hn::MulAdd(
                weight, hn::LoadU(kPlaneLanes, from[r] + shift + v * kPlaneVector), totals[r][v]);
          }
        }
      }
      continue;
    }
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      const int64_t offset = offsets[r * plane.tap_rows];
      if (offset < 0) continue;
      for (int64_t b = 0; b < plane.tap_columns; ++b) {
        const Vector weight = hn::Set(kPlaneLanes, weights[b]);
        const float* const from = plane.from + offset + plane.column_offsets[b] + x;
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) {
          totals[r][v] =
              hn::MulAdd(weight, hn::LoadU(kPlaneLanes, from + v * kPlaneVector), totals[r][v]);
        }
      }
    }
  }
  const int64_t last = std::min(plane.columns - x - (kVectors - 1) * kPlaneVector, kPlaneVector);
  const auto mask = hn::FirstN(kPlaneLanes, static_cast<size_t>(last));
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
    const int64_t place = (y + r) * plane.to_stride + x;
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      const int64_t at = place + v * kPlaneVector;
      const bool whole = v < kVectors - 1 || last == kPlaneVector;
      if (plane.residual != nullptr) {
        const float* const added = plane.residual + at;
        totals[r][v] = hn::Add(totals[r][v], whole ? hn::LoadU(kPlaneLanes, added)
                                                   : hn::MaskedLoad(mask, kPlaneLanes, added));
      }
      if (whole) {
        hn::StoreU(totals[r][v], kPlaneLanes, plane.to + at);
      } else {
        hn::BlendedStore(totals[r][v], mask, kPlaneLanes, plane.to + at);
      }
    }
  }
}

template <int kRows>
HWY_INLINE void PlaneRows(const PlaneSums& plane, int64_t y) {
  int64_t x = 0;
  for (; plane.columns - x > 2 * kPlaneVector; x += 3 * kPlaneVector)
    PlaneTile<kRows, 3>(plane, y, x);
  const int64_t left = plane.columns - x;
  if (left > kPlaneVector) {
    PlaneTile<kRows, 2>(plane, y, x);
  } else if (left > 0) {
    PlaneTile<kRows, 1>(plane, y, x);
  }
}

void RunPlaneSums(const PlaneSums& plane) {
  int64_t y = 0;
  for (; y + 4 <= plane.rows; y += 4) PlaneRows<4>(plane, y);
  for (; y + 2 <= plane.rows; y += 2) PlaneRows<2>(plane, y);
  for (; y < plane.rows; ++y) PlaneRows<1>(plane, y);
}

}  // namespace HWY_NAMESPACE
}  // namespace plimsoll::kernels::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plimsoll::kernels::cpu {

HWY_EXPORT(RunPlaneSums);

void SumPlane(const PlaneSums& plane) { HWY_DYNAMIC_DISPATCH(RunPlaneSums)(plane); }

}  // namespace plimsoll::kernels::cpu
#endif
