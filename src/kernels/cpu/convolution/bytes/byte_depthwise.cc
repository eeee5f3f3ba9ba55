#include "kernels/cpu/convolution/bytes/byte_depthwise.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "kernels/cpu/quantization/flat_taps.h"

namespace plimsoll::kernels::cpu {
namespace {

constexpr int64_t kMostLineBytes = 64 << 10;
// Of maps whose lines are copied before the first of them is read: a load of what stores have just
// written in parts waits for them.
constexpr int64_t kSomeLineBytes = 8 << 10;
constexpr int64_t kMostTogether = 16;

// Few bytes by copies of a fixed size that may overlap.
void CopyBytes(const uint8_t* from, int64_t count, uint8_t* to) {
  if (count < 4 || count > 32) {
    std::memcpy(to, from, static_cast<size_t>(count));
  } else if (count < 8) {
    std::memcpy(to, from, 4);
    std::memcpy(to + count - 4, from + count - 4, 4);
  } else if (count < 16) {
    std::memcpy(to, from, 8);
    std::memcpy(to + count - 8, from + count - 8, 8);
  } else {
    std::memcpy(to, from, 16);
    std::memcpy(to + count - 16, from + count - 16, 16);
  }
}

}  // namespace

bool ByteDepthwise::Fits(const ConvolutionShape& shape) {
  const Window& window = shape.window;
  return shape.GroupChannels() == 1 && window.rank == 2 &&
         window.KernelSize() <= DepthwiseTaps::kMostTaps && window.begin[2] >= 0 &&
         TapsOfQuad(window.strides[2], window.dilations[2]) > 0;
}

ByteDepthwise::ByteDepthwise(const ConvolutionShape& shape, bool to_bytes) : shape_(shape) {
  const Window& window = shape_.window;
  flat_ = to_bytes && SumsFlatTaps(window.strides[2], window.dilations[2]);
  if (flat_) {
    map_ = FlatMap(window);
    line_ = map_.line();
  } else {
    const int64_t read = ColumnGroups(window.output[2]) * kGroupColumns * window.strides[2];
    line_ = std::max(window.begin[2] + window.input[2], read + window.Extent(2) + kTapSlack);
  }
  order_ = TapOrderOf(window.strides[2], window.dilations[2]);
  while (rows_ < window.output[1] && Lines(rows_ + 1) * line_ <= kMostLineBytes) ++rows_;
  if (flat_) map_.Lay(rows_);
  std::vector<int64_t> lines;
  for (int64_t y = 0; y < window.kernel[1]; ++y) {
    const int64_t line = y * window.dilations[1];
    lines.push_back(flat_ ? map_.LineOffset(line) : line * line_);
  }
  taps_ = DepthwiseTaps(window, lines);
  if (rows_ >= window.output[1]) {
    together_ = std::clamp<int64_t>(kSomeLineBytes / map_size(), 1, kMostTogether);
  }
}

int64_t ByteDepthwise::Lines(int64_t rows) const {
  const Window& window = shape_.window;
  return (rows - 1) * window.strides[1] + window.Extent(1);
}

int64_t ByteDepthwise::map_size() const { return flat_ ? map_.size() : Lines(rows_) * line_; }

Bytes ByteDepthwise::slot_size() const {
  return Bytes(together_ * map_size() + (flat_ ? map_.slack() : 0));
}

// Lines [first, first + lines) of a map between their padding; one that lies outside is padding.
void ByteDepthwise::CopyLines(const uint8_t* map, uint8_t padding, uint8_t flip, int64_t first,
                              int64_t lines, uint8_t* to) const {
  const Window& window = shape_.window;
  const int64_t width = window.input[2];
  for (int64_t y = first; y < first + lines; ++y, to += line_) {
    uint8_t* const line = to + window.begin[2];
    if (y < 0 || y >= window.input[1]) {
      std::fill_n(line, width, padding);
      continue;
    }
    CopyBytes(map + y * width, width, line);
    if (flip == 0) continue;
    for (int64_t x = 0; x < width; ++x) line[x] ^= flip;
  }
}

void ByteDepthwise::Run(int64_t first, int64_t step, const Operands& operands,
                        const PairFinish& finish, void* scratch) const {
  auto* const lines = static_cast<uint8_t*>(scratch);
  // What lies beside the lines is padding and stays so.
  const int32_t zero = operands.data_zero + (operands.data_signed ? 128 : 0);
  if (!flat_) std::fill_n(lines, slot_size().value(), static_cast<uint8_t>(zero));
  DepthwiseTaps::Scratch scratch_taps;
  for (int64_t unit = first; unit < units(); unit += step * together_) {
    const int64_t count = std::min(together_, (units() - unit + step - 1) / step);
    for (int64_t row = 0; row < shape_.window.output[1]; row += rows_) {
      for (int64_t i = 0; i < count; ++i) {
        CopyRows(unit + i * step, row, operands, lines + i * map_size());
      }
      for (int64_t i = 0; i < count; ++i) {
        SumRows(unit + i * step, row, operands, finish, lines + i * map_size(), scratch_taps);
      }
    }
  }
}

// What output rows from `row` on see of one channel of one image.
void ByteDepthwise::CopyRows(int64_t unit, int64_t row, const Operands& operands,
                             uint8_t* lines) const {
  const Window& window = shape_.window;
  const int32_t zero = operands.data_zero + (operands.data_signed ? 128 : 0);
  const auto* const map = static_cast<const uint8_t*>(operands.data) + unit * window.InputSize();
  const auto padding = static_cast<uint8_t>(zero);
  const uint8_t flip = operands.data_signed ? 0x80 : 0;
  const int64_t first = row * window.strides[1] - window.begin[1];
  const int64_t count = Lines(std::min(rows_, window.output[1] - row));
  flat_ ? map_.Copy(map, padding, flip, first, count, lines)
        : CopyLines(map, padding, flip, first, count, lines);
}

void ByteDepthwise::SumRows(int64_t unit, int64_t row, const Operands& operands,
                            const PairFinish& finish, const uint8_t* lines,
                            DepthwiseTaps::Scratch& scratch) const {
  const Window& window = shape_.window;
  const int64_t image = unit / shape_.channels;
  const int64_t channel = unit % shape_.channels;
  const int32_t zero = operands.data_zero + (operands.data_signed ? 128 : 0);
  const int64_t count = std::min(rows_, window.output[1] - row);
  for (int64_t f = 0; f < shape_.GroupFilters(); ++f) {
    const int64_t filter = channel * shape_.GroupFilters() + f;
    const DepthwiseTaps::Filter taps = taps_.Of(operands.weights, filter, scratch);
    PairFinish part = finish.At(filter, 0);
    const int64_t size = finish.kind == PairFinish::Kind::kInt32 ? 4 : 1;
    part.to = static_cast<char*>(part.to) +
              (image * shape_.filters * window.OutputSize() + row * window.output[2]) * size;
    const int32_t bias = (part.bias == nullptr ? 0 : *part.bias) - zero * taps.sum;
    part.bias = &bias;
    if (flat_) {
      SumFlatTaps({.map = lines,
                   .offsets = taps.offsets,
                   .weights = taps.weights,
                   .quads = taps.quads,
                   .stride = window.strides[2],
                   .tap_step = window.dilations[2],
                   .order = &order_,
                   .results = count * window.output[2],
                   .kept = map_.kept()},
                  part);
      continue;
    }
    SumTaps({.lines = lines,
             .line_step = window.strides[1] * line_,
             .offsets = taps.offsets,
             .weights = taps.weights,
             .quads = taps.quads,
             .stride = window.strides[2],
             .order = &order_,
             .rows = count,
             .columns = window.output[2],
             .result_step = window.output[2]},
            part);
  }
}

}  // namespace plimsoll::kernels::cpu
