#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/cpu/convolution/sliding_window.h"

namespace plimsoll::kernels::cpu {

// The output places [first, last) of the last axis whose tap `tap` lies inside the input.
struct InsidePlaces {
  int64_t first = 0;
  int64_t last = 0;
};

inline InsidePlaces PlacesInside(const Window& window, int64_t tap) {
  constexpr size_t kLast = Window::kAxes - 1;
  const int64_t stride = window.strides[kLast];
  const int64_t offset = tap * window.dilations[kLast] - window.begin[kLast];
  const int64_t first = offset >= 0 ? 0 : (-offset + stride - 1) / stride;
  const int64_t room = window.input[kLast] - 1 - offset;
  const int64_t last = room < 0 ? 0 : room / stride + 1;
  return {std::min(first, window.output[kLast]), std::min(last, window.output[kLast])};
}

// Folds every input element under the window into its output element, y = step(y, x), over one map.
// Runs along rows, so that the inner loop is simple.
template <typename T, typename Made, typename Step>
void FoldWindows(const Window& window, const T* x, Made* y, const Step& step) {
  for (int64_t place = 0; place < window.output[0] * window.output[1]; ++place) {
    Made* const to = y + place * window.output[2];
    const int64_t z0 = place / window.output[1] * window.strides[0] - window.begin[0];
    const int64_t y0 = place % window.output[1] * window.strides[1] - window.begin[1];
    for (int64_t tap = 0; tap < window.KernelSize(); ++tap) {
      const int64_t row = y0 + tap / window.kernel[2] % window.kernel[1] * window.dilations[1];
      const int64_t plane = z0 + tap / (window.kernel[1] * window.kernel[2]) * window.dilations[0];
      if (plane < 0 || plane >= window.input[0] || row < 0 || row >= window.input[1]) continue;
      const int64_t column = tap % window.kernel[2];
      const InsidePlaces inside = PlacesInside(window, column);
      const int64_t stride = window.strides[2];
      const T* const from = x + (plane * window.input[1] + row) * window.input[2] +
                            column * window.dilations[2] - window.begin[2];
      if (stride == 1) {
        for (int64_t i = inside.first; i < inside.last; ++i) to[i] = step(to[i], from[i]);
      } else {
        for (int64_t i = inside.first; i < inside.last; ++i) to[i] = step(to[i], from[i * stride]);
      }
    }
  }
}

}  // namespace plimsoll::kernels::cpu
