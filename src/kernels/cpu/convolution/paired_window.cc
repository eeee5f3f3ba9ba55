#include "kernels/cpu/convolution/paired_window.h"

#include <algorithm>
#include <cstring>

#include "kernels/cpu/quantization/byte_pairs.h"

namespace plimsoll::kernels::cpu {
namespace {

// `count` (at most kGroupColumns) pairs, by copies of a fixed size that may overlap.
inline void CopyPairs(const int32_t* from, int64_t count, int32_t* to) {
  if (count >= 8) {
    std::memcpy(to, from, 32);
    std::memcpy(to + count - 8, from + count - 8, 32);
  } else if (count >= 4) {
    std::memcpy(to, from, 16);
    std::memcpy(to + count - 4, from + count - 4, 16);
  } else {
    for (int64_t i = 0; i < count; ++i) to[i] = from[i];
  }
}

}  // namespace

PairedWindow::PairedWindow(const ConvolutionShape& shape) : shape_(shape) {
  const Window& window = shape_.window;
  const int64_t stride = window.strides[2];
  const int64_t padded = std::max(window.input[2] + window.begin[2],
                                  (window.output[2] - 1) * stride + window.Extent(2));
  phase_ = (padded + stride - 1) / stride + kGroupColumns;
  line_ = phase_ * stride;
}

int64_t PairedWindow::LinesFor(int64_t rows) const {
  const Window& window = shape_.window;
  if (window.OutputSize() == 0) return 0;
  const int64_t own = (std::min(rows, window.output[1]) - 1) * window.strides[1] + window.Extent(1);
  // Rows may be of several planes, each of which sees as many as the kernel is deep.
  const int64_t planes = (rows + window.output[1] - 2) / window.output[1] + 1;
  return own * planes * window.kernel[0];
}

Bytes PairedWindow::size(int64_t places) const {
  if (shape_.window.OutputSize() == 0) return {};
  const int64_t rows = (places + shape_.window.output[2] - 2) / shape_.window.output[2] + 1;
  const int64_t channels = (shape_.GroupChannels() + 1) / 2;
  // A line in the input's order, and what the last group of a line writes beyond it.
  const int64_t more = shape_.window.input[2] + 2 * kGroupColumns;
  return Bytes(LinesFor(rows) * channels * line_ + more) * 4;
}

// One line of two channels; a line outside of the input is of zeros.
template <typename X>
void PairedWindow::ReadLine(const X* one, const X* other, int64_t line, X zero, int32_t* scratch,
                            int32_t* to) const {
  const Window& window = shape_.window;
  std::fill_n(to, line_, 0);
  if (line < 0) return;
  const int64_t width = window.input[2];
  const int64_t before = window.begin[2];
  const int64_t stride = window.strides[2];
  const X* const first = one + line * width;
  const X* const second = other == nullptr ? nullptr : other + line * width;
  if (stride == 1) {
    PairRows(first, second, width, zero, to + before, kGroupColumns);
    return;
  }
  PairRows(first, second, width, zero, scratch, kGroupColumns);
  for (int64_t column = 0; column < width; ++column) {
    const int64_t place = column + before;
    to[place % stride * phase_ + place / stride] = scratch[column];
  }
}

template <typename X>
void PairedWindow::GatherOf(const X* x, int64_t first, int64_t count, X zero, int32_t* lines,
                            int32_t* columns) const {
  const Window& window = shape_.window;
  const int64_t width = window.output[2];
  const int64_t taps = window.KernelSize();
  const int64_t channels = (shape_.GroupChannels() + 1) / 2;
  const int64_t pairs = channels * taps;
  const int64_t first_row = first / width;
  const int64_t last_row = (first + count - 1) / width;
  int32_t* const scratch =
      lines + channels * line_ * LinesFor(last_row - first_row + 1) + kGroupColumns;
  // Rows of one plane of the output at a time: for each plane of the kernel the lines that they
  // see.
  for (int64_t row = first_row; row <= last_row;) {
    const int64_t plane = row / window.output[1];
    const int64_t top = row % window.output[1];
    const int64_t rows = std::min(last_row - row + 1, window.output[1] - top);
    const int64_t seen = (rows - 1) * window.strides[1] + window.Extent(1);
    const int64_t channel_step = window.kernel[0] * seen * line_;
    for (int64_t channel = 0; channel < channels; ++channel) {
      const X* const one = x + 2 * channel * window.InputSize();
      const X* const other =
          2 * channel + 1 < shape_.GroupChannels() ? one + window.InputSize() : nullptr;
      for (int64_t i = 0; i < window.kernel[0] * seen; ++i) {
        const int64_t z =
            plane * window.strides[0] - window.begin[0] + i / seen * window.dilations[0];
        const int64_t y = top * window.strides[1] - window.begin[1] + i % seen;
        const bool inside = z >= 0 && z < window.input[0] && y >= 0 && y < window.input[1];
        ReadLine(one, other, inside ? z * window.input[1] + y : -1, zero, scratch,
                 lines + channel * channel_step + i * line_);
      }
    }
    const int64_t begin = std::max(first, row * width);
    const int64_t end = std::min(first + count, (row + rows) * width);
    for (int64_t place = begin; place < end;) {
      const int64_t at = place - first;
      const int64_t x_place = place % width;
      const int64_t some =
          std::min({width - x_place, kGroupColumns - at % kGroupColumns, end - place});
      const int64_t down = (place / width - row) * window.strides[1];
      int32_t* const to = columns + at / kGroupColumns * pairs * kGroupColumns + at % kGroupColumns;
      for (int64_t tap = 0; tap < taps; ++tap) {
        const int64_t over = tap % window.kernel[2] * window.dilations[2];
        const int64_t below = tap / window.kernel[2] % window.kernel[1] * window.dilations[1];
        const int64_t behind = tap / window.kernel[2] / window.kernel[1];
        const int32_t* const from = lines + (behind * seen + down + below) * line_ +
                                    over % window.strides[2] * phase_ + over / window.strides[2] +
                                    x_place;
        for (int64_t channel = 0; channel < channels; ++channel) {
          CopyPairs(from + channel * channel_step, some,
                    to + (channel * taps + tap) * kGroupColumns);
        }
      }
      place += some;
    }
    row += rows;
  }
  // Columns beyond the last place.
  for (int64_t at = count; at % kGroupColumns != 0; ++at) {
    int32_t* const to = columns + at / kGroupColumns * pairs * kGroupColumns + at % kGroupColumns;
    for (int64_t p = 0; p < pairs; ++p) to[p * kGroupColumns] = 0;
  }
}

void PairedWindow::Gather(const uint8_t* x, int64_t first, int64_t count, uint8_t zero,
                          int32_t* lines, int32_t* columns) const {
  GatherOf(x, first, count, zero, lines, columns);
}

void PairedWindow::Gather(const int8_t* x, int64_t first, int64_t count, int8_t zero,
                          int32_t* lines, int32_t* columns) const {
  GatherOf(x, first, count, zero, lines, columns);
}

}  // namespace plimsoll::kernels::cpu
