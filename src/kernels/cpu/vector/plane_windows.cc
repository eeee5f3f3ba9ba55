#include "kernels/cpu/vector/plane_windows.h"

#include <algorithm>

#include "kernels/cpu/vector/hot_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/vector/plane_windows.cc"
// clang-format off: the order matters
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace plimsoll::kernels::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

constexpr hn::CappedTag<float, 16> kWindowLanes;
constexpr auto kWindowVector = static_cast<int64_t>(hn::MaxLanes(kWindowLanes));
using WindowVector = hn::Vec<decltype(kWindowLanes)>;
using WindowMask = hn::Mask<decltype(kWindowLanes)>;

constexpr bool kManyRegisters = HWY_TARGET == HWY_AVX3;

// The lanes of a vector that begins at `column` which are inside of a row.
HWY_INLINE WindowMask InsideLanes(int64_t column, int64_t columns) {
  const int64_t low = std::clamp<int64_t>(-column, 0, kWindowVector);
  const int64_t high = std::clamp<int64_t>(columns - column, 0, kWindowVector);
  return hn::AndNot(hn::FirstN(kWindowLanes, static_cast<size_t>(low)),
                    hn::FirstN(kWindowLanes, static_cast<size_t>(high)));
}

// What some taps of one column add to kRows times kVectors totals. An element that is read serves
// all of kTaps taps, which are neighbours, and rows are then as far apart as columns; with one tap
// rows may be any number apart. `y`, `x`: the first place; `tap`: the first tap's row.
template <int kStride, int kTaps, int kRows, int kVectors>
struct TapColumns {
  static constexpr int kLoads = kVectors * kStride;
  static constexpr int kReach = kTaps == 1 ? kRows : (kRows - 1) * kStride + kTaps;

  HWY_INLINE static void Add(const PlaneWindow& plane, int64_t y, int64_t x, int64_t tap,
                             WindowVector (&totals)[kRows][kVectors]) {
    const int64_t step = kTaps == 1 ? plane.row_stride : 1;
    const int64_t top = y * plane.row_stride + tap * plane.row_dilation - plane.top;
    const bool rows = top >= 0 && top + (kReach - 1) * step < plane.input_rows;
    for (int64_t b = 0; b < plane.tap_columns; ++b) {
      const int64_t column = x * kStride + b * plane.column_dilation - plane.left;
      const int64_t end = column + kLoads * kWindowVector;
      if (end <= 0 || column >= plane.input_columns) continue;
      const bool columns = column >= 0 && end <= plane.input_columns;
      const float* const weights = plane.weights + tap * plane.tap_columns + b;
      WindowVector weight[kTaps];
#pragma GCC unroll 8
      for (int a = 0; a < kTaps; ++a) {
        weight[a] = hn::Set(kWindowLanes, weights[a * plane.tap_columns]);
      }
      if (kManyRegisters && rows && columns) {
        AddColumn<true, true>(plane, top, step, column, weight, totals);
      } else if (kManyRegisters && rows) {
        AddColumn<true, false>(plane, top, step, column, weight, totals);
      } else if (columns) {
        AddColumn<false, true>(plane, top, step, column, weight, totals);
      } else {
        AddColumn<false, false>(plane, top, step, column, weight, totals);
      }
    }
  }

 private:
  // Of rows and columns all inside of the plane, or not.
  template <bool kWholeRows, bool kWholeColumns>
  HWY_INLINE static void AddColumn(const PlaneWindow& plane, int64_t top, int64_t step,
                                   int64_t column, const WindowVector (&weight)[kTaps],
                                   WindowVector (&totals)[kRows][kVectors]) {
    WindowMask masks[kLoads];
    if constexpr (!kWholeColumns) {
#pragma GCC unroll 8
      for (int v = 0; v < kLoads; ++v) {
        masks[v] = InsideLanes(column + v * kWindowVector, plane.input_columns);
      }
    }
#pragma GCC unroll 32
    for (int i = 0; i < kReach; ++i) {
      const int64_t row = top + i * step;
      if (!kWholeRows && (row < 0 || row >= plane.input_rows)) continue;
      const float* const from = plane.from + row * plane.input_columns + column;
      WindowVector loaded[kLoads];
#pragma GCC unroll 8
      for (int v = 0; v < kLoads; ++v) {
        const float* const at = from + v * kWindowVector;
        if constexpr (kWholeColumns) {
          loaded[v] = hn::LoadU(kWindowLanes, at);
        } else {
          loaded[v] = hn::MaskedLoad(masks[v], kWindowLanes, at);
        }
      }
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) {
        const WindowVector elements = Elements(loaded, v);
#pragma GCC unroll 8
        for (int a = 0; a < kTaps; ++a) {
          const int apart = kTaps == 1 ? 1 : kStride;
          const int r = i - a;
          if (r < 0 || r % apart != 0 || r / apart >= kRows) continue;
          totals[r / apart][v] = hn::MulAdd(weight[a], elements, totals[r / apart][v]);
        }
      }
    }
  }

  HWY_INLINE static WindowVector Elements(const WindowVector (&loaded)[kLoads], int v) {
#if HWY_TARGET != HWY_SCALAR
    if constexpr (kStride == 2) {
      return hn::ConcatEven(kWindowLanes, loaded[2 * v + 1], loaded[2 * v]);
    }
#endif
    return loaded[kStride * v];
  }
};

// The last vector ends where the row does, the last row of the tile where the plane does.
template <int kStride, int kRows, int kVectors>
HWY_INLINE void WindowTile(const PlaneWindow& plane, int64_t y, int64_t x) {
  WindowVector totals[kRows][kVectors];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) totals[r][v] = hn::Set(kWindowLanes, plane.bias);
  }
  const bool together = plane.row_stride == kStride && plane.row_dilation == 1;
  for (int64_t a = 0; a < plane.tap_rows;) {
    const int64_t left = together ? plane.tap_rows - a : 1;
    if (left >= 5) {
      TapColumns<kStride, 5, kRows, kVectors>::Add(plane, y, x, a, totals);
      a += 5;
    } else if (left >= 3) {
      TapColumns<kStride, 3, kRows, kVectors>::Add(plane, y, x, a, totals);
      a += 3;
    } else if (left == 2) {
      TapColumns<kStride, 2, kRows, kVectors>::Add(plane, y, x, a, totals);
      a += 2;
    } else {
      TapColumns<kStride, 1, kRows, kVectors>::Add(plane, y, x, a, totals);
      a += 1;
    }
  }
  const int64_t last = std::min(plane.columns - x - (kVectors - 1) * kWindowVector, kWindowVector);
  const auto mask = hn::FirstN(kWindowLanes, static_cast<size_t>(last));
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
    if (y + r >= plane.rows) break;
    const int64_t place = (y + r) * plane.columns + x;
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      const int64_t at = place + v * kWindowVector;
      const bool whole = v < kVectors - 1 || last == kWindowVector;
      WindowVector total = totals[r][v];
      if (plane.residual != nullptr) {
        const float* const added = plane.residual + at;
        total = hn::Add(total, whole ? hn::LoadU(kWindowLanes, added)
                                     : hn::MaskedLoad(mask, kWindowLanes, added));
      }
      if (whole) {
        hn::StoreU(total, kWindowLanes, plane.to + at);
      } else {
        hn::BlendedStore(total, mask, kWindowLanes, plane.to + at);
      }
    }
  }
}

// What is left of a strip of kVectors takes the smallest tile that holds it.
template <int kStride, int kRows, int kVectors>
HWY_INLINE void WindowStrip(const PlaneWindow& plane, int64_t x) {
  int64_t y = 0;
  for (; plane.rows - y > kRows / 2; y += kRows) {
    WindowTile<kStride, kRows, kVectors>(plane, y, x);
  }
  if (plane.rows - y > kRows / 4) {
    WindowTile<kStride, kRows / 2, kVectors>(plane, y, x);
  } else if (y < plane.rows) {
    WindowTile<kStride, kRows / 4, kVectors>(plane, y, x);
  }
}

template <int kStride>
HWY_INLINE void WindowPlane(const PlaneWindow& plane) {
  constexpr int kRowsOfTwo = kManyRegisters ? 8 : 4;
  int64_t x = 0;
  for (; plane.columns - x > kWindowVector; x += 2 * kWindowVector) {
    WindowStrip<kStride, kRowsOfTwo, 2>(plane, x);
  }
  if (x < plane.columns) WindowStrip<kStride, 8, 1>(plane, x);
}

void RunPlaneWindow(const PlaneWindow& plane) {
  if (plane.column_stride == 1) return WindowPlane<1>(plane);
  WindowPlane<2>(plane);
}

}  // namespace HWY_NAMESPACE
}  // namespace plimsoll::kernels::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plimsoll::kernels::cpu {

HWY_EXPORT(RunPlaneWindow);

void SumPlaneWindow(const PlaneWindow& plane) { HWY_DYNAMIC_DISPATCH(RunPlaneWindow)(plane); }

}  // namespace plimsoll::kernels::cpu
#endif
