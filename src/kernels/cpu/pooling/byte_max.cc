#include "kernels/cpu/pooling/byte_max.h"

#include <algorithm>
#include <limits>

#include "kernels/cpu/vector/hot_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/pooling/byte_max.cc"
// clang-format off: the order matters
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// clang-format on

#ifndef PLIMSOLL_KERNELS_CPU_BYTE_MAX_LINE_
#define PLIMSOLL_KERNELS_CPU_BYTE_MAX_LINE_
namespace plimsoll::kernels::cpu {

// Of a line with its padding.
constexpr int64_t kMostLineOfBytes = 2048;

inline int64_t PaddedLine(const Window& window) {
  return std::max(window.begin[2] + window.input[2],
                  (window.output[2] - 1) * window.strides[2] + window.Extent(2));
}

}  // namespace plimsoll::kernels::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace plimsoll::kernels::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

constexpr int64_t kMostLanes = HWY_MAX_BYTES;

// The largest of `count` columns of some lines, which lie `step` elements apart.
template <typename T>
HWY_INLINE void MaxOfLines(const T* from, int64_t lines, int64_t step, int64_t count, T* to) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto vector = [&](int64_t column) {
    auto most = hn::LoadU(d, from + column);
    for (int64_t line = 1; line < lines; ++line) {
      most = hn::Max(most, hn::LoadU(d, from + line * step + column));
    }
    hn::StoreU(most, d, to + column);
  };
  int64_t column = 0;
  for (; column + lanes <= count; column += lanes) vector(column);
  if (column == count) return;
  if (count >= lanes) return vector(count - lanes);
  for (; column < count; ++column) {
    to[column] = from[column];
    for (int64_t line = 1; line < lines; ++line) {
      to[column] = std::max(to[column], from[line * step + column]);
    }
  }
}

// The largest under each window of one row. Columns that a stride keeps apart lie apart: of place
// p in phases[p % stride][p / stride].
template <typename T>
HWY_INLINE void MaxOfWindows(const Window& window, const T* const (&phases)[2], T* to) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t stride = window.strides[2];
  for (int64_t i = 0; i < window.output[2]; i += lanes) {
    auto most = hn::LoadU(d, phases[0] + i);
    for (int64_t tap = 1; tap < window.kernel[2]; ++tap) {
      const int64_t place = tap * window.dilations[2];
      most = hn::Max(most, hn::LoadU(d, phases[place % stride] + place / stride + i));
    }
    const int64_t count = std::min(lanes, window.output[2] - i);
    if (count == lanes) {
      hn::StoreU(most, d, to + i);
    } else {
      HWY_ALIGN T rest[kMostLanes];
      hn::Store(most, d, rest);
      std::copy_n(rest, count, to + i);
    }
  }
}

template <typename T>
HWY_INLINE void MaxMapOf(const Window& window, const T* x, T* y) {
  constexpr T kLowest = std::numeric_limits<T>::lowest();
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  // Vectors are read beyond a line's end.
  HWY_ALIGN T line[kMostLineOfBytes + 2 * kMostLanes];
  HWY_ALIGN T apart[2][kMostLineOfBytes / 2 + 2 * kMostLanes];
  std::fill_n(line, kMostLineOfBytes + 2 * kMostLanes, kLowest);
  std::fill_n(apart[0], kMostLineOfBytes / 2 + 2 * kMostLanes, kLowest);
  std::fill_n(apart[1], kMostLineOfBytes / 2 + 2 * kMostLanes, kLowest);
  const bool split = window.strides[2] == 2;
  const T* const phases[2] = {split ? apart[0] : line, apart[1]};
  const int64_t dilation = window.dilations[1];
  for (int64_t row = 0; row < window.output[1]; ++row, y += window.output[2]) {
    const int64_t top = row * window.strides[1] - window.begin[1];
    const int64_t first = top >= 0 ? 0 : (-top + dilation - 1) / dilation;
    const int64_t room = window.input[1] - 1 - top;
    const int64_t last = std::min(window.kernel[1], room < 0 ? 0 : room / dilation + 1);
    if (first >= last) {
      std::fill_n(y, window.output[2], kLowest);
      continue;
    }
    MaxOfLines(x + (top + first * dilation) * window.input[2], last - first,
               dilation * window.input[2], window.input[2], line + window.begin[2]);
    for (int64_t at = 0; split && at < PaddedLine(window); at += 2 * lanes) {
      auto even = hn::Zero(d);
      auto odd = hn::Zero(d);
      hn::LoadInterleaved2(d, line + at, even, odd);
      hn::StoreU(even, d, apart[0] + at / 2);
      hn::StoreU(odd, d, apart[1] + at / 2);
    }
    MaxOfWindows(window, phases, y);
  }
}

void MaxUnsigned(const Window& window, const uint8_t* x, uint8_t* y) { MaxMapOf(window, x, y); }
void MaxSigned(const Window& window, const int8_t* x, int8_t* y) { MaxMapOf(window, x, y); }

}  // namespace HWY_NAMESPACE
}  // namespace plimsoll::kernels::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plimsoll::kernels::cpu {

HWY_EXPORT(MaxUnsigned);
HWY_EXPORT(MaxSigned);

bool FitsByteMax(const Window& window) {
  const bool plane = window.input[0] == 1 && window.output[0] == 1 && window.kernel[0] == 1 &&
                     window.begin[0] == 0;
  return plane && window.begin[2] >= 0 && window.strides[2] <= 2 && window.input[2] > 0 &&
         PaddedLine(window) <= kMostLineOfBytes;
}

void MaxBytes(const Window& window, const uint8_t* x, uint8_t* y) {
  HWY_DYNAMIC_DISPATCH(MaxUnsigned)(window, x, y);
}
void MaxBytes(const Window& window, const int8_t* x, int8_t* y) {
  HWY_DYNAMIC_DISPATCH(MaxSigned)(window, x, y);
}

}  // namespace plimsoll::kernels::cpu
#endif  // HWY_ONCE
