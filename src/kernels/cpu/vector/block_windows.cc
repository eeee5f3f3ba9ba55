#include "kernels/cpu/vector/block_windows.h"

#include <algorithm>

#include "kernels/cpu/vector/hot_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/vector/block_windows.cc"
// clang-format off: the order matters
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace plimsoll::kernels::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

constexpr hn::CappedTag<float, 16> kBlockLanes;
constexpr auto kBlockVector = static_cast<int64_t>(hn::MaxLanes(kBlockLanes));

// kPlaces totals of some lanes of the block stay in registers; `lane`: the first of them. The last
// places may be behind the row.
template <class D, int kPlaces>
HWY_INLINE void BlockTile(D d, const BlockWindow& window, int64_t lane, int64_t x) {
  using Vector = hn::Vec<D>;
  Vector totals[kPlaces];
  const Vector start = window.bias == nullptr ? hn::Zero(d) : hn::LoadU(d, window.bias + lane);
#pragma GCC unroll 16
  for (int p = 0; p < kPlaces; ++p) totals[p] = start;
  const int64_t step = window.column_stride * window.block;
  for (int64_t a = 0; a < window.tap_planes; ++a) {
    for (int64_t b = 0; b < window.tap_rows; ++b) {
      const float* const row = window.from + a * window.plane_step + b * window.row_step + lane;
      const float* const weights =
          window.weights + a * window.weight_plane + b * window.weight_row + lane;
      for (int64_t c = 0; c < window.tap_columns; ++c) {
        const Vector weight = hn::LoadU(d, weights + c * window.block);
        const int64_t column = x * window.column_stride + c * window.column_dilation - window.left;
        const float* const from = row + column * window.block;
        const bool inside =
            column >= 0 && column + (kPlaces - 1) * window.column_stride < window.input_columns;
        if (inside) {
#pragma GCC unroll 16
          for (int p = 0; p < kPlaces; ++p) {
            totals[p] = hn::MulAdd(weight, hn::LoadU(d, from + p * step), totals[p]);
          }
          continue;
        }
#pragma GCC unroll 16
        for (int p = 0; p < kPlaces; ++p) {
          const int64_t at = column + p * window.column_stride;
          if (at < 0 || at >= window.input_columns) continue;
          totals[p] = hn::MulAdd(weight, hn::LoadU(d, from + p * step), totals[p]);
        }
      }
    }
  }
#pragma GCC unroll 16
  for (int p = 0; p < kPlaces; ++p) {
    if (x + p >= window.columns) break;
    const int64_t place = (x + p) * window.block + lane;
    if (window.residual != nullptr) {
      totals[p] = hn::Add(totals[p], hn::LoadU(d, window.residual + place));
    }
    hn::StoreU(totals[p], d, window.to + place);
  }
}

template <class D>
HWY_INLINE void BlockLanesOfRow(D d, const BlockWindow& window, int64_t lane) {
  int64_t x = 0;
  for (; window.columns - x > 4; x += 8) BlockTile<D, 8>(d, window, lane, x);
  if (window.columns > x) BlockTile<D, 4>(d, window, lane, x);
}

void RunBlockWindow(const BlockWindow& window) {
  if (window.block < kBlockVector) {
    const hn::CappedTag<float, 8> half;
    constexpr auto kHalf = static_cast<int64_t>(hn::MaxLanes(half));
    for (int64_t lane = 0; lane < window.block; lane += kHalf) {
      BlockLanesOfRow(half, window, lane);
    }
    return;
  }
  for (int64_t lane = 0; lane < window.block; lane += kBlockVector) {
    BlockLanesOfRow(kBlockLanes, window, lane);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace plimsoll::kernels::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plimsoll::kernels::cpu {

HWY_EXPORT(RunBlockWindow);

void SumBlockWindow(const BlockWindow& window) { HWY_DYNAMIC_DISPATCH(RunBlockWindow)(window); }

}  // namespace plimsoll::kernels::cpu
#endif
