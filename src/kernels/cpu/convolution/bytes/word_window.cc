#include "kernels/cpu/convolution/bytes/word_window.h"

#include <algorithm>
#include <cstring>

#include "kernels/cpu/quantization/byte_pairs.h"
#include "kernels/cpu/quantization/byte_quads.h"

namespace plimsoll::kernels::cpu {
namespace {

// Of the input, that lie in the scratch at a time: half of a second cache.
constexpr int64_t kMostLineWords = int64_t{1} << 16;

// `count` (at most kGroupColumns) words, by copies of a fixed size that may overlap.
inline void CopyWords(const int32_t* from, int64_t count, int32_t* to) {
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

// A byte as products of quads read it, and what turns it into that.
template <typename X>
constexpr uint8_t kFlip = std::is_signed_v<X> ? 0x80 : 0;

}  // namespace

int64_t WordWindow::ChannelWordCount() const {
  const auto channels = static_cast<int64_t>(words_);
  return (shape_.GroupChannels() + channels - 1) / channels;
}

WordWindow::WordWindow(const ConvolutionShape& shape, ChannelWords words)
    : shape_(shape), words_(words) {
  const Window& window = shape_.window;
  const int64_t stride = window.strides[2];
  const int64_t padded = std::max(window.input[2] + window.begin[2],
                                  (window.output[2] - 1) * stride + window.Extent(2));
  phase_ = (padded + stride - 1) / stride + kGroupColumns;
  line_ = phase_ * stride;
}

int64_t WordWindow::LinesFor(int64_t rows) const {
  const Window& window = shape_.window;
  if (window.OutputSize() == 0) return 0;
  const int64_t own = (std::min(rows, window.output[1]) - 1) * window.strides[1] + window.Extent(1);
  // Rows may be of several planes, each of which sees as many as the kernel is deep.
  const int64_t planes = (rows + window.output[1] - 2) / window.output[1] + 1;
  return own * planes * window.kernel[0];
}

Bytes WordWindow::size(int64_t places) const {
  if (shape_.window.OutputSize() == 0) return {};
  const int64_t rows = (places + shape_.window.output[2] - 2) / shape_.window.output[2] + 1;
  const int64_t lines = LinesFor(rows) * line_;
  // Lines in the input's order, and what the last group of a line writes beyond it.
  const int64_t read = Narrow() ? std::min(LinesFor(rows), shape_.window.input[1]) : 1;
  const int64_t more = read * shape_.window.input[2] + 2 * kGroupColumns;
  return Bytes(std::min(lines * ChannelWordCount(), std::max(lines, kMostLineWords)) + more) * 4;
}

int64_t WordWindow::ChannelsAtOnce(int64_t rows) const {
  return std::clamp<int64_t>(kMostLineWords / (LinesFor(rows) * line_), 1, ChannelWordCount());
}

template <typename X>
void WordWindow::ReadWords(const X* x, int64_t word, int64_t first, int64_t count, X zero,
                           int32_t* to, int64_t group_stride) const {
  const int64_t begin = word * static_cast<int64_t>(words_);
  const auto row = [&](int64_t channel) {
    return channel < shape_.GroupChannels() ? x + channel * shape_.window.InputSize() + first
                                            : nullptr;
  };
  if (words_ == ChannelWords::kPairs) {
    PairRows(row(begin), row(begin + 1), count, zero, to, group_stride);
    return;
  }
  const uint8_t* rows[4];
  for (int64_t i = 0; i < 4; ++i) rows[i] = reinterpret_cast<const uint8_t*>(row(begin + i));
  QuadRows(rows, count, kFlip<X>, static_cast<uint8_t>(zero), to, group_stride);
}

template <typename X>
void WordWindow::ReadPlaces(const X* x, int64_t first, int64_t count, X zero,
                            int32_t* columns) const {
  if (words_ == ChannelWords::kQuads) {
    QuadPlanes(reinterpret_cast<const uint8_t*>(x) + first, shape_.window.InputSize(),
               shape_.GroupChannels(), count, kFlip<X>, static_cast<uint8_t>(zero), columns);
    return;
  }
  const int64_t words = ChannelWordCount();
  for (int64_t word = 0; word < words; ++word) {
    ReadWords(x, word, first, count, zero, columns + word * kGroupColumns, words * kGroupColumns);
  }
}

template void WordWindow::ReadPlaces(const uint8_t*, int64_t, int64_t, uint8_t, int32_t*) const;
template void WordWindow::ReadPlaces(const int8_t*, int64_t, int64_t, int8_t, int32_t*) const;

// Most groups of columns of such a line would be half empty.
bool WordWindow::Narrow() const { return shape_.window.input[2] < 2 * kGroupColumns; }

// Spreads a line of words over the phases of the stride.
void WordWindow::PlaceLine(const int32_t* words, int32_t* to) const {
  const Window& window = shape_.window;
  const int64_t width = window.input[2];
  const int64_t before = window.begin[2];
  const int64_t stride = window.strides[2];
  if (stride == 1) {
    for (int64_t column = 0; column < width; column += kGroupColumns) {
      CopyWords(words + column, std::min(kGroupColumns, width - column), to + before + column);
    }
    return;
  }
  if (stride == 2 && before >= 0) {
    // Places of the first column's phase begin there, those of the other one place on or off.
    int32_t* const first = to + before % 2 * phase_ + before / 2;
    int32_t* const second = to + (before + 1) % 2 * phase_ + (before + 1) / 2;
    SplitWords(words, width, first, second);
    return;
  }
  for (int64_t column = 0; column < width; ++column) {
    const int64_t place = column + before;
    to[place % stride * phase_ + place / stride] = words[column];
  }
}

// Rows of the output, all of one plane, and the first of their places that is gathered.
struct WordWindow::Rows {
  int64_t first;
  int64_t count;
  int64_t begin;  // counted from the first place of all that are gathered
};

// Words of channels.
struct WordWindow::Channels {
  int64_t first;
  int64_t count;
};

// Lines [first, first + count), of which those outside of the input are padding.
struct WordWindow::Lines {
  int64_t plane;  // of the input; outside of it all lines are padding
  int64_t first;
  int64_t count;
};

template <typename X>
void WordWindow::ReadLines(const X* x, int64_t word, const Lines& lines, X zero, int32_t* scratch,
                           int32_t* to) const {
  const Window& window = shape_.window;
  const int64_t width = window.input[2];
  const uint8_t padding = static_cast<uint8_t>(zero) ^ kFlip<X>;
  const int32_t padded =
      words_ == ChannelWords::kPairs ? 0 : static_cast<int32_t>(padding * 0x01010101U);
  const bool outside = lines.plane < 0 || lines.plane >= window.input[0];
  const int64_t begin = outside ? 0 : std::max<int64_t>(lines.first, 0);
  const int64_t end = outside ? 0 : std::min(lines.first + lines.count, window.input[1]);
  const auto read = [&](int64_t line, int64_t count, int32_t* words) {
    ReadWords(x, word, (lines.plane * window.input[1] + line) * width, count * width, zero, words,
              kGroupColumns);
  };
  if (Narrow() && begin < end) read(begin, end - begin, scratch);
  for (int64_t i = 0; i < lines.count; ++i, to += line_) {
    if (!Sees(i)) continue;
    std::fill_n(to, line_, padded);
    const int64_t line = lines.first + i;
    if (line < begin || line >= end) continue;
    if (Narrow()) {
      PlaceLine(scratch + (line - begin) * width, to);
    } else if (window.strides[2] == 1) {
      read(line, 1, to + window.begin[2]);
    } else {
      read(line, 1, scratch);
      PlaceLine(scratch, to);
    }
  }
}

// Whether a tap of some output row falls on this line, counted from the first that one sees.
bool WordWindow::Sees(int64_t line) const {
  const Window& window = shape_.window;
  if (window.strides[1] == 1) return true;
  for (int64_t tap = 0; tap < window.kernel[1]; ++tap) {
    if ((line - tap * window.dilations[1]) % window.strides[1] == 0) return true;
  }
  return false;
}

template <typename X>
void WordWindow::GatherOf(const X* x, int64_t first, int64_t count, X zero, int32_t* lines,
                          int32_t* columns) const {
  const Window& window = shape_.window;
  const int64_t width = window.output[2];
  const int64_t first_row = first / width;
  const int64_t last_row = (first + count - 1) / width;
  const int64_t channels = ChannelWordCount();
  const int64_t at_once = ChannelsAtOnce(last_row - first_row + 1);
  int32_t* const scratch =
      lines + at_once * line_ * LinesFor(last_row - first_row + 1) + kGroupColumns;
  // Rows of one plane of the output at a time: for each plane of the kernel the lines that they
  // see.
  for (int64_t row = first_row; row <= last_row;) {
    const int64_t top = row % window.output[1];
    const Rows rows{.first = row,
                    .count = std::min(last_row - row + 1, window.output[1] - top),
                    .begin = std::max(first, row * width) - first};
    const int64_t end = std::min(first + count, (row + rows.count) * width) - first;
    const int64_t seen = (rows.count - 1) * window.strides[1] + window.Extent(1);
    for (int64_t channel = 0; channel < channels; channel += at_once) {
      const int64_t some = std::min(at_once, channels - channel);
      for (int64_t i = 0; i < some * window.kernel[0]; ++i) {
        const int64_t tap = i % window.kernel[0];
        const Lines own{.plane = row / window.output[1] * window.strides[0] - window.begin[0] +
                                 tap * window.dilations[0],
                        .first = top * window.strides[1] - window.begin[1],
                        .count = seen};
        ReadLines(x, channel + i / window.kernel[0], own, zero, scratch, lines + i * seen * line_);
      }
      CopyPlaces(rows, first, end, {channel, some}, lines, columns);
    }
    row += rows.count;
  }
}

void WordWindow::CopyPlaces(const Rows& rows, int64_t first, int64_t end, const Channels& channels,
                            const int32_t* lines, int32_t* columns) const {
  const Window& window = shape_.window;
  const int64_t width = window.output[2];
  const int64_t taps = window.KernelSize();
  const int64_t pairs = ChannelWordCount() * taps;
  const int64_t seen = (rows.count - 1) * window.strides[1] + window.Extent(1);
  const int64_t channel_step = window.kernel[0] * seen * line_;
  for (int64_t at = rows.begin; at < end;) {
    const int64_t place = first + at;
    const int64_t x_place = place % width;
    const int64_t some = std::min({width - x_place, kGroupColumns - at % kGroupColumns, end - at});
    const int64_t down = (place / width - rows.first) * window.strides[1];
    int32_t* const to = columns + at / kGroupColumns * pairs * kGroupColumns + at % kGroupColumns +
                        channels.first * taps * kGroupColumns;
    for (int64_t tap = 0; tap < taps; ++tap) {
      const int64_t over = tap % window.kernel[2] * window.dilations[2];
      const int64_t below = tap / window.kernel[2] % window.kernel[1] * window.dilations[1];
      const int64_t behind = tap / window.kernel[2] / window.kernel[1];
      const int32_t* const from = lines + (behind * seen + down + below) * line_ +
                                  over % window.strides[2] * phase_ + over / window.strides[2] +
                                  x_place;
      for (int64_t channel = 0; channel < channels.count; ++channel) {
        CopyWords(from + channel * channel_step, some, to + (channel * taps + tap) * kGroupColumns);
      }
    }
    at += some;
  }
}

void WordWindow::Gather(const uint8_t* x, int64_t first, int64_t count, uint8_t zero,
                        int32_t* lines, int32_t* columns) const {
  GatherOf(x, first, count, zero, lines, columns);
}

void WordWindow::Gather(const int8_t* x, int64_t first, int64_t count, int8_t zero, int32_t* lines,
                        int32_t* columns) const {
  GatherOf(x, first, count, zero, lines, columns);
}

}  // namespace plimsoll::kernels::cpu
