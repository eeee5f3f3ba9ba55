#include "kernels/cpu/convolution/row_convolution.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "kernels/blocking.h"
#include "kernels/cpu/convolution/row_finish.h"
#include "kernels/cpu/convolution/shifted_rows.h"
#include "kernels/cpu/workspace.h"
#include "kernels/parallel.h"

namespace plimsoll::kernels::cpu {
namespace {

constexpr Bytes kMostRowBytes = Bytes(512 << 10);
constexpr int64_t kLongRow = 16;

// How rows of the input lie in the workspace: [slots][channels of a group][stride][length], then
// one row of zeros. Elements that one tap meets next to each other lie next to each other.
struct RowBuffer {
  int64_t stride = 1;
  int64_t length = 0;
  int64_t row = 0;   // floats of one channel
  int64_t slot = 0;  // floats of all channels
  int64_t slots = 0;
  int64_t total = 0;
  int64_t taps = 0;

  static RowBuffer Of(const ConvolutionShape& shape) {
    const Window& window = shape.window;
    RowBuffer rows;
    rows.stride = window.strides[2];
    const int64_t padded = (window.output[2] - 1) * rows.stride + window.Extent(2);
    rows.length = (padded + rows.stride - 1) / rows.stride + kShiftedRowSlack;
    rows.row = SaturatingMultiply(rows.stride, rows.length);
    rows.slot = SaturatingMultiply(shape.GroupChannels(), rows.row);
    rows.slots = window.kernel[1];
    rows.total = SaturatingAdd(SaturatingMultiply(rows.slots, rows.slot), rows.row);
    rows.taps = SaturatingMultiply(shape.GroupChannels(), window.KernelSize());
    return rows;
  }

  Bytes Size() const { return Bytes(sizeof(float)) * total + Bytes(sizeof(int64_t)) * taps; }
};

// See MakeRowConvolution.
class RowConvolution final : public Kernel {
 public:
  explicit RowConvolution(const FloatConvolution& wanted)
      : shape_(wanted.shape),
        block_(wanted.source_blocked ? BlockSize() : 1),
        rows_(RowBuffer::Of(wanted.shape)),
        finish_(wanted.activation) {
    parts_ = std::clamp<int64_t>(Threads(), 1, shape_.window.output[1]);
    WorkspaceLayout workspace;
    for (int64_t part = 0; part < parts_; ++part) {
      buffers_.push_back(workspace.Take(Bytes(sizeof(float)) * rows_.total));
      offsets_.push_back(workspace.Take(Bytes(sizeof(int64_t)) * rows_.taps));
    }
    workspace_ = workspace.total();
  }

  Bytes workspace() const override { return workspace_; }
  std::string_view implementation() const override { return "ours:rows"; }
  std::string_view workspace_purpose() const override { return "rows of the input, padded"; }

  Status Run(const KernelCall& call) const override {
    const int64_t height = shape_.window.output[1];
    ParallelFor(parts_, 1, [&](int64_t begin, int64_t end) {
      for (int64_t part = begin; part < end; ++part) {
        for (int64_t image = 0; image < shape_.batch; ++image) {
          for (int64_t group = 0; group < shape_.groups; ++group) {
            RunRows(call, image, group, height * part / parts_, height * (part + 1) / parts_, part);
          }
        }
      }
    });
    return {};
  }

 private:
  static const float* Input(const KernelCall& call, size_t i) {
    return i < call.inputs.size() ? static_cast<const float*>(call.inputs[i]) : nullptr;
  }

  void RunRows(const KernelCall& call, int64_t image, int64_t group, int64_t first, int64_t end,
               int64_t part) const {
    const Window& window = shape_.window;
    const int64_t filters = shape_.GroupFilters();
    const int64_t channels = (shape_.channels + block_ - 1) / block_ * block_;
    const float* const source = Input(call, 0) + image * channels * window.InputSize();
    const float* const bias = Input(call, 2);
    const float* const residual = Input(call, 3);
    float* const buffer = At<float>(call.workspace, buffers_[static_cast<size_t>(part)]);
    auto* const offsets = At<int64_t>(call.workspace, offsets_[static_cast<size_t>(part)]);
    std::fill_n(buffer + rows_.slots * rows_.slot, rows_.row, 0.0f);
    int64_t loaded = std::numeric_limits<int64_t>::min();  // rows before this one are there
    for (int64_t y = first; y < end; ++y) {
      const int64_t top = y * window.strides[1] - window.begin[1];
      const int64_t bottom = std::min(top + window.kernel[1], window.input[1]);
      for (int64_t row = std::max({top, loaded, int64_t{0}}); row < bottom; ++row) {
        Load(source, group * shape_.GroupChannels(), row, buffer + row % rows_.slots * rows_.slot);
      }
      loaded = std::max(loaded, bottom);
      PlaceTaps(top, offsets);
      const int64_t place =
          (image * shape_.filters + group * filters) * window.OutputSize() + y * window.output[2];
      float* const output = static_cast<float*>(call.outputs[0]) + place;
      for (int64_t f = 0; residual != nullptr && f < filters; ++f) {
        const int64_t line = f * window.OutputSize();
        if (residual + place != output) {
          std::copy_n(residual + place + line, window.output[2], output + line);
        }
      }
      SumShiftedRows({.from = buffer,
                      .offsets = offsets,
                      .weights = Input(call, 1) + group * filters * rows_.taps,
                      .weight_stride = rows_.taps,
                      .taps = rows_.taps,
                      .filters = filters,
                      .count = window.output[2],
                      .to = output,
                      .to_stride = window.OutputSize(),
                      .accumulate = residual != nullptr});
      for (int64_t f = 0; f < filters; ++f) {
        finish_.Apply(bias == nullptr ? 0.0f : bias[group * filters + f], nullptr, 1,
                      window.output[2], output + f * window.OutputSize());
      }
    }
  }

  // Where each tap finds its row, for the output row whose window begins at input row `top`.
  void PlaceTaps(int64_t top, int64_t* offsets) const {
    const Window& window = shape_.window;
    for (int64_t channel = 0; channel < shape_.GroupChannels(); ++channel) {
      for (int64_t y = 0; y < window.kernel[1]; ++y) {
        const int64_t row = top + y;
        const bool inside = row >= 0 && row < window.input[1];
        const int64_t begin = inside ? row % rows_.slots * rows_.slot + channel * rows_.row
                                     : rows_.slots * rows_.slot;
        for (int64_t x = 0; x < window.kernel[2]; ++x) {
          const int64_t at = x * window.dilations[2];
          *offsets++ = begin + at % rows_.stride * rows_.length + at / rows_.stride;
        }
      }
    }
  }

  // One row of all channels of a group, with zeros where there is padding.
  void Load(const float* source, int64_t first_channel, int64_t row, float* slot) const {
    const Window& window = shape_.window;
    const int64_t reach = (rows_.length - kShiftedRowSlack) * rows_.stride;
    const int64_t width = std::min(window.input[2], reach - window.begin[2]);
    const int64_t skipped = std::max<int64_t>(-window.begin[2], 0);  // negative padding cuts
    for (int64_t c = 0; c < shape_.GroupChannels(); ++c) {
      const int64_t channel = first_channel + c;
      const float* const from = source + channel / block_ * block_ * window.InputSize() +
                                row * window.input[2] * block_ + channel % block_;
      float* const to = slot + c * rows_.row;
      if (window.begin[2] > 0 || window.begin[2] + width < reach) {
        for (int64_t phase = 0; phase < rows_.stride; ++phase) {
          std::fill_n(to + phase * rows_.length, rows_.length - kShiftedRowSlack, 0.0f);
        }
      }
      Spread(from + skipped * block_, width - skipped, window.begin[2] + skipped, to);
    }
  }

  // Elements, a block apart, to places from `at` on.
  void Spread(const float* from, int64_t count, int64_t at, float* to) const {
    if (rows_.stride == 1 && block_ == 1) {
      std::copy_n(from, std::max<int64_t>(count, 0), to + at);
      return;
    }
    for (int64_t phase = 0; phase < rows_.stride; ++phase) {
      // The first element of this phase.
      const int64_t begin = (phase - at % rows_.stride + rows_.stride) % rows_.stride;
      float* next = to + phase * rows_.length + (at + begin) / rows_.stride;
      for (int64_t i = begin; i < count; i += rows_.stride) *next++ = from[i * block_];
    }
  }

  ConvolutionShape shape_;
  int64_t block_;  // of the data's channels; 1: plain
  RowBuffer rows_;
  RowFinish finish_;
  int64_t parts_ = 1;             // stretches of output rows, one for each thread
  std::vector<int64_t> buffers_;  // places in the workspace, by part
  std::vector<int64_t> offsets_;
  Bytes workspace_;
};

}  // namespace

bool SuitsRowConvolution(const KernelSite& site, const FloatConvolution& wanted) {
  const Window& window = wanted.shape.window;
  const bool rows = window.kernel[0] == 1 && window.input[0] == 1 && window.output[0] == 1 &&
                    window.begin[0] == 0 && (window.dilations[1] == 1 || window.kernel[1] == 1);
  if (!rows || wanted.destination_blocked || window.output[2] < kLongRow) return false;
  const Bytes needed = RowBuffer::Of(wanted.shape).Size() * std::max<int64_t>(Threads(), 1);
  return needed <= std::min(site.most_workspace, kMostRowBytes);
}

KernelPointer MakeRowConvolution(const KernelSite&, const FloatConvolution& wanted) {
  return std::make_unique<const RowConvolution>(wanted);
}

}  // namespace plimsoll::kernels::cpu
