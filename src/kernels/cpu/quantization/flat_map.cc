#include "kernels/cpu/quantization/flat_map.h"

#include <algorithm>

namespace plimsoll::kernels::cpu {

FlatMap::FlatMap(const Window& window) : window_(window) {
  const int64_t stride = window.strides[2];
  const int64_t own = window.begin[2] + window.input[2];
  // Taps of a row's last column may fall on the padding that the next line begins with.
  const int64_t seen = (window.output[2] - 1) * stride + window.Extent(2) - window.begin[2];
  const int64_t pitch = std::max({own, seen, window.output[2] * stride, int64_t{1}});
  line_ = (pitch + stride - 1) / stride * stride;
}

void FlatMap::Lay(int64_t rows) {
  plane_lines_ = rows + (window_.Extent(1) - 1) / window_.strides[1];
  const int64_t pitch = line_ / window_.strides[2];  // of columns
  kept_.assign(static_cast<size_t>((rows * pitch + kFlatColumns - 1) / kFlatColumns), 0);
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t column = row * pitch; column < row * pitch + window_.output[2]; ++column) {
      kept_[static_cast<size_t>(column / kFlatColumns)] |= uint64_t{1} << (column % kFlatColumns);
    }
  }
}

int64_t FlatMap::LineOffset(int64_t line) const {
  const int64_t stride = window_.strides[1];
  return (line % stride * plane_lines_ + line / stride) * line_;
}

// In the order of their places, since padding is written beyond each.
void FlatMap::Copy(const uint8_t* map, uint8_t padding, uint8_t flip, int64_t first, int64_t lines,
                   uint8_t* to) const {
  const int64_t stride = window_.strides[1];
  const int64_t width = window_.input[2];
  for (int64_t plane = 0; plane < stride; ++plane) {
    // Of lines first + plane, and every stride-th from there, those before `end`.
    const auto before = [&](int64_t end) {
      const int64_t past = std::min(end, first + lines) - first - plane;
      return past <= 0 ? 0 : (past + stride - 1) / stride;
    };
    const int64_t above = before(0);
    const int64_t all = before(first + lines);
    const int64_t inside = std::max<int64_t>(before(window_.input[1]) - above, 0);
    CopyPaddedLines({.from = map + (first + plane + above * stride) * width,
                     .step = stride * width,
                     .width = width,
                     .before = window_.begin[2],
                     .pitch = line_,
                     .above = above,
                     .count = inside,
                     .below = all - above - inside,
                     .flip = flip,
                     .padding = padding},
                    to + plane * plane_lines_ * line_);
  }
}

}  // namespace plimsoll::kernels::cpu
