#include "kernels/cpu/convolution/byte_depthwise.h"

#include <algorithm>
#include <array>

#include "kernels/cpu/quantization/byte_loops.h"

namespace plimsoll::kernels::cpu {
namespace {

constexpr int64_t kMostTaps = 256;
constexpr int64_t kMostLineBytes = 64 << 10;

int64_t RoundedUp(int64_t floats) { return (floats + 15) / 16 * 16; }

}  // namespace

bool ByteDepthwise::Fits(const ConvolutionShape& shape) {
  const Window& window = shape.window;
  return shape.GroupChannels() == 1 && window.rank == 2 && window.KernelSize() <= kMostTaps;
}

ByteDepthwise::ByteDepthwise(const ConvolutionShape& shape) : shape_(shape) {
  const Window& window = shape_.window;
  const int64_t stride = window.strides[2];
  const int64_t reach = (window.kernel[2] - 1) * window.dilations[2] / stride;
  phase_ = RoundedUp(window.output[2] + reach + kGroupColumns);
  while (rows_ < window.output[1] && Lines(rows_ + 1) * LineSize() * 4 <= kMostLineBytes) ++rows_;
}

int64_t ByteDepthwise::Lines(int64_t rows) const {
  const Window& window = shape_.window;
  return (rows - 1) * window.strides[1] + window.Extent(1);
}

Bytes ByteDepthwise::slot_size() const {
  const int64_t line = RoundedUp(shape_.window.input[2]);
  return Bytes(Lines(rows_) * LineSize() + line + RoundedUp(shape_.window.output[2]) + 16) * 4;
}

// Lines [first, first + lines) of a map, less the zero point; what lies outside is 0.
template <typename X>
void ByteDepthwise::ReadLines(const X* map, int32_t zero, int64_t first, int64_t lines, float* line,
                              float* to) const {
  const Window& window = shape_.window;
  const int64_t width = window.input[2];
  const int64_t stride = window.strides[2];
  const int64_t before = window.begin[2];
  for (int64_t i = 0; i < lines; ++i, to += LineSize()) {
    std::fill_n(to, LineSize(), 0.0F);
    const int64_t y = first + i;
    if (y < 0 || y >= window.input[1]) continue;
    const int64_t most = std::min(width, LineSize() - before);
    if (stride == 1) {
      DequantizeBytes(map + y * width, most, 1.0F, zero, to + before);
      continue;
    }
    DequantizeBytes(map + y * width, width, 1.0F, zero, line);
    for (int64_t phase = 0; phase < stride; ++phase) {
      // Column x of the input is place x + before, which is place / stride of its phase.
      const int64_t start = ((phase - before) % stride + stride) % stride;
      float* const own = to + phase * phase_ + (start + before) / stride;
      const int64_t count =
          std::min((width - start + stride - 1) / stride, phase_ - (start + before) / stride);
      if (stride == 2) {
        for (int64_t x = 0; x < count; ++x) own[x] = line[start + 2 * x];
      } else {
        for (int64_t x = 0; x < count; ++x) own[x] = line[start + stride * x];
      }
    }
  }
}

template <typename W>
void ByteDepthwise::ReadWeights(const Operands& operands, int64_t filter, float* to) const {
  const int64_t taps = shape_.window.KernelSize();
  const auto* const zeros = static_cast<const W*>(operands.weights_zeros);
  const auto* const from = static_cast<const W*>(operands.weights) + filter * taps;
  const int32_t zero = zeros == nullptr ? 0 : zeros[filter % operands.weights_zero_count];
  for (int64_t t = 0; t < taps; ++t) to[t] = static_cast<float>(from[t] - zero);
}

void ByteDepthwise::Run(int64_t unit, const Operands& operands, const PairFinish& finish,
                        void* scratch) const {
  const Window& window = shape_.window;
  const int64_t taps = window.KernelSize();
  const int64_t image = unit / shape_.channels;
  const int64_t channel = unit % shape_.channels;
  auto* const lines = static_cast<float*>(scratch);
  float* const line = lines + Lines(rows_) * LineSize();
  auto* const sums = reinterpret_cast<int32_t*>(line + RoundedUp(window.input[2]));
  std::array<float, kMostTaps> weights;
  std::array<const float*, kMostTaps> rows;
  for (int64_t row = 0; row < window.output[1]; row += rows_) {
    const int64_t count = std::min(rows_, window.output[1] - row);
    const int64_t first = row * window.strides[1] - window.begin[1];
    const int64_t map = unit * window.InputSize();
    if (operands.data_signed) {
      ReadLines(static_cast<const int8_t*>(operands.data) + map, operands.data_zero, first,
                Lines(count), line, lines);
    } else {
      ReadLines(static_cast<const uint8_t*>(operands.data) + map, operands.data_zero, first,
                Lines(count), line, lines);
    }
    for (int64_t f = 0; f < shape_.GroupFilters(); ++f) {
      const int64_t filter = channel * shape_.GroupFilters() + f;
      if (operands.weights_signed) {
        ReadWeights<int8_t>(operands, filter, weights.data());
      } else {
        ReadWeights<uint8_t>(operands, filter, weights.data());
      }
      for (int64_t r = 0; r < count; ++r) {
        for (int64_t t = 0; t < taps; ++t) {
          const int64_t down = r * window.strides[1] + t / window.kernel[2] * window.dilations[1];
          const int64_t over = t % window.kernel[2] * window.dilations[2];
          rows[static_cast<size_t>(t)] = lines + down * LineSize() +
                                         over % window.strides[2] * phase_ +
                                         over / window.strides[2];
        }
        SumTaps(rows.data(), weights.data(), taps, window.output[2], sums);
        PairFinish part = finish.At(filter, 0);
        const int64_t size = finish.kind == PairFinish::Kind::kInt32 ? 4 : 1;
        part.to =
            static_cast<char*>(part.to) +
            (image * shape_.filters * window.OutputSize() + (row + r) * window.output[2]) * size;
        FinishSums(sums, window.output[2], part);
      }
    }
  }
}

}  // namespace plimsoll::kernels::cpu
