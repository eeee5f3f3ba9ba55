#include "kernels/cpu/pooling/window_lines.h"

#include <algorithm>
#include <limits>

#include "kernels/cpu/vector/hot_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/pooling/window_lines.cc"
// clang-format off: the order matters
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// clang-format on

#ifndef PLIMSOLL_KERNELS_CPU_WINDOW_LINES_
#define PLIMSOLL_KERNELS_CPU_WINDOW_LINES_
namespace plimsoll::kernels::cpu {

// Elements of a line with its padding; longer ones come in stretches.
constexpr int64_t kMostLine = 2048;

// The taps [first, last) along an axis that lie inside the input, for a window that begins at `at`.
struct InsideTaps {
  int64_t first = 0;
  int64_t last = 0;

  static InsideTaps Of(const Window& window, size_t axis, int64_t at) {
    const int64_t dilation = window.dilations[axis];
    const int64_t room = window.input[axis] - 1 - at;
    if (dilation == 1) {  // as most are: no divisions
      return {std::max<int64_t>(-at, 0), std::clamp<int64_t>(room + 1, 0, window.kernel[axis])};
    }
    return {at >= 0 ? 0 : (-at + dilation - 1) / dilation,
            std::min(window.kernel[axis], room < 0 ? 0 : room / dilation + 1)};
  }
};

}  // namespace plimsoll::kernels::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace plimsoll::kernels::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <typename T>
struct Largest {
  static constexpr T kStart = std::numeric_limits<T>::has_infinity
                                  ? -std::numeric_limits<T>::infinity()
                                  : std::numeric_limits<T>::lowest();
  T operator()(T best, T candidate) const { return candidate > best ? candidate : best; }
  // Of a candidate that is NaN the second operand is given.
  template <typename Vector>
  HWY_INLINE Vector Fold(Vector best, Vector candidate) const {
    return hn::Max(candidate, best);
  }
};

template <typename T>
struct Total {
  static constexpr T kStart = 0;
  T operator()(T sum, T element) const { return sum + element; }
  template <typename Vector>
  HWY_INLINE Vector Fold(Vector sum, Vector element) const {
    return hn::Add(sum, element);
  }
};

template <typename T, typename Folding>
class LineFolds {
 public:
  explicit LineFolds(const Window& window) : window_(window) {}

  HWY_INLINE void Run(const T* x, T* y) {
    const int64_t stride = window_.strides[2];
    const int64_t most = (kMostLine - window_.Extent(2)) / stride + 1;
    for (int64_t first = 0; first < window_.output[2]; first += most) {
      RunStretch(x, first, std::min(most, window_.output[2] - first), y + first);
    }
  }

 private:
  using Tag = hn::ScalableTag<T>;
  static constexpr int64_t kMostLanes = HWY_MAX_BYTES / static_cast<int64_t>(sizeof(T));

  // The `count` output columns from `first` on.
  HWY_INLINE void RunStretch(const T* x, int64_t first, int64_t count, T* y) {
    const int64_t left = first * window_.strides[2] - window_.begin[2];
    const int64_t reach = (count - 1) * window_.strides[2] + window_.Extent(2);
    const int64_t low = std::clamp<int64_t>(-left, 0, reach);
    const int64_t high = std::clamp(window_.input[2] - left, low, reach);
    // Vectors are read beyond a line's end.
    std::fill_n(line_, reach + 2 * kMostLanes, Folding::kStart);
    for (int64_t plane = 0; plane < window_.output[0]; ++plane) {
      for (int64_t row = 0; row < window_.output[1]; ++row) {
        FoldLines(x + left + low, plane, row, high - low, line_ + low);
        FoldColumns(reach, count, y + (plane * window_.output[1] + row) * window_.output[2]);
      }
    }
  }

  // `count` columns of the lines that the windows of one row meet.
  HWY_INLINE void FoldLines(const T* x, int64_t to_plane, int64_t to_row, int64_t count,
                            T* to) const {
    const int64_t front = to_plane * window_.strides[0] - window_.begin[0];
    const int64_t top = to_row * window_.strides[1] - window_.begin[1];
    const InsideTaps planes = InsideTaps::Of(window_, 0, front);
    const InsideTaps rows = InsideTaps::Of(window_, 1, top);
    const Tag d;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    const auto each_line = [&](const auto& body) HWY_ATTR {
      for (int64_t plane = planes.first; plane < planes.last; ++plane) {
        for (int64_t row = rows.first; row < rows.last; ++row) {
          const int64_t deep = front + plane * window_.dilations[0];
          const int64_t high = top + row * window_.dilations[1];
          body(x + (deep * window_.input[1] + high) * window_.input[2]);
        }
      }
    };
    const auto vector = [&](int64_t column) HWY_ATTR {
      auto total = hn::Set(d, Folding::kStart);
      each_line([&](const T* line)
                    HWY_ATTR { total = folding_.Fold(total, hn::LoadU(d, line + column)); });
      hn::StoreU(total, d, to + column);
    };
    int64_t column = 0;
    for (; column + lanes <= count; column += lanes) vector(column);
    if (column == count) return;
    if (count >= lanes) return vector(count - lanes);
#if HWY_MEM_OPS_MIGHT_FAULT
    std::fill_n(to, count, Folding::kStart);
    each_line([&](const T* line) {
      for (int64_t i = 0; i < count; ++i) to[i] = folding_(to[i], line[i]);
    });
#else
    const auto some = hn::FirstN(d, static_cast<size_t>(count));
    auto total = hn::Set(d, Folding::kStart);
    each_line([&](const T* line)
                  HWY_ATTR { total = folding_.Fold(total, hn::MaskedLoad(some, d, line)); });
    hn::BlendedStore(total, some, d, to);
#endif
  }

  // The columns of each window. Those that a stride of two keeps apart are brought together first.
  HWY_INLINE void FoldColumns(int64_t reach, int64_t count, T* to) {
    const Tag d;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    const int64_t stride = window_.strides[2];
    const int64_t dilation = window_.dilations[2];
    if (stride > 2) {
      for (int64_t i = 0; i < count; ++i) {
        T total = Folding::kStart;
        for (int64_t tap = 0; tap < window_.kernel[2]; ++tap) {
          total = folding_(total, line_[i * stride + tap * dilation]);
        }
        to[i] = total;
      }
      return;
    }
    for (int64_t at = 0; stride == 2 && at < reach; at += 2 * lanes) {
      auto even = hn::Zero(d);
      auto odd = hn::Zero(d);
      hn::LoadInterleaved2(d, line_ + at, even, odd);
      hn::StoreU(even, d, apart_[0] + at / 2);
      hn::StoreU(odd, d, apart_[1] + at / 2);
    }
    for (int64_t i = 0; i < count; i += lanes) {
      auto total = hn::Set(d, Folding::kStart);
      for (int64_t tap = 0; tap < window_.kernel[2]; ++tap) {
        const int64_t place = tap * dilation;
        const T* const from = stride == 1 ? line_ + place : apart_[place % 2] + place / 2;
        total = folding_.Fold(total, hn::LoadU(d, from + i));
      }
      if (i + lanes <= count) {
        hn::StoreU(total, d, to + i);
      } else {
#if HWY_MEM_OPS_MIGHT_FAULT
        HWY_ALIGN T rest[kMostLanes];
        hn::Store(total, d, rest);
        std::copy_n(rest, count - i, to + i);
#else
        hn::BlendedStore(total, hn::FirstN(d, static_cast<size_t>(count - i)), d, to + i);
#endif
      }
    }
  }

  const Window& window_;
  Folding folding_;
  HWY_ALIGN T line_[kMostLine + 2 * kMostLanes];
  HWY_ALIGN T apart_[2][kMostLine / 2 + 2 * kMostLanes];
};

void MaxUnsigned(const Window& window, const uint8_t* x, uint8_t* y) {
  LineFolds<uint8_t, Largest<uint8_t>>(window).Run(x, y);
}
void MaxSigned(const Window& window, const int8_t* x, int8_t* y) {
  LineFolds<int8_t, Largest<int8_t>>(window).Run(x, y);
}
void MaxFloats(const Window& window, const float* x, float* y) {
  LineFolds<float, Largest<float>>(window).Run(x, y);
}
void SumFloats(const Window& window, const float* x, float* y) {
  LineFolds<float, Total<float>>(window).Run(x, y);
}

void DivideRow(float count, const float* counts, int64_t columns, float* y) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto times = hn::Set(d, count);
  int64_t i = 0;
  for (; i + lanes <= columns; i += lanes) {
    hn::StoreU(hn::Div(hn::LoadU(d, y + i), hn::Mul(times, hn::LoadU(d, counts + i))), d, y + i);
  }
  for (; i < columns; ++i) y[i] /= count * counts[i];
}

}  // namespace HWY_NAMESPACE
}  // namespace plimsoll::kernels::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plimsoll::kernels::cpu {

HWY_EXPORT(MaxUnsigned);
HWY_EXPORT(MaxSigned);
HWY_EXPORT(MaxFloats);
HWY_EXPORT(SumFloats);
HWY_EXPORT(DivideRow);

bool FitsWindowLines(const Window& window) { return window.Extent(2) <= kMostLine; }

void MaxOfWindows(const Window& window, const uint8_t* x, uint8_t* y) {
  HWY_DYNAMIC_DISPATCH(MaxUnsigned)(window, x, y);
}
void MaxOfWindows(const Window& window, const int8_t* x, int8_t* y) {
  HWY_DYNAMIC_DISPATCH(MaxSigned)(window, x, y);
}
void MaxOfWindows(const Window& window, const float* x, float* y) {
  HWY_DYNAMIC_DISPATCH(MaxFloats)(window, x, y);
}
void SumOfWindows(const Window& window, const float* x, float* y) {
  HWY_DYNAMIC_DISPATCH(SumFloats)(window, x, y);
}
void DivideByCounts(float count, std::span<const float> counts, float* y) {
  HWY_DYNAMIC_DISPATCH(DivideRow)(count, counts.data(), static_cast<int64_t>(counts.size()), y);
}

}  // namespace plimsoll::kernels::cpu
#endif  // HWY_ONCE
