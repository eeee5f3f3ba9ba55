#include "kernels/cpu/convolution/row_convolution.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "kernels/blocking.h"
#include "kernels/cpu/convolution/row_finish.h"
#include "kernels/cpu/convolution/shifted_rows.h"
#include "kernels/cpu/movement/matrix_transpose.h"
#include "kernels/cpu/workspace.h"
#include "kernels/parallel.h"

namespace plimsoll::kernels::cpu {
namespace {

constexpr Bytes kMostRowBytes = Bytes(512 << 10);
constexpr int64_t kLongRow = 16;
// Columns of the output that are worked on at once: longer rows come in stretches.
constexpr int64_t kRowStretch = 2048;

// How rows of the input lie in the workspace: [slots][channels of a group][stride][length], then
// one row of zeros. Elements that one tap meets next to each other lie next to each other.
struct RowBuffer {
  int64_t stride = 1;
  int64_t columns = 0;  // of the output, at most
  int64_t length = 0;
  int64_t row = 0;   // floats of one channel
  int64_t slot = 0;  // floats of all channels
  int64_t slots = 0;
  int64_t total = 0;
  int64_t taps = 0;
  int64_t tile = 0;  // floats of an output row of all filters, where they are put in blocks

  static RowBuffer Of(const FloatConvolution& wanted) {
    const ConvolutionShape& shape = wanted.shape;
    const Window& window = shape.window;
    RowBuffer rows;
    rows.stride = window.strides[2];
    rows.columns = std::min(window.output[2], kRowStretch);
    const int64_t padded = (rows.columns - 1) * rows.stride + window.Extent(2);
    rows.length = (padded + rows.stride - 1) / rows.stride + kShiftedRowSlack;
    rows.row = SaturatingMultiply(rows.stride, rows.length);
    rows.slot = SaturatingMultiply(shape.GroupChannels(), rows.row);
    rows.slots = window.kernel[1];
    rows.total = SaturatingAdd(SaturatingMultiply(rows.slots, rows.slot), rows.row);
    rows.taps = SaturatingMultiply(shape.GroupChannels(), window.KernelSize());
    if (wanted.destination_blocked) rows.tile = shape.filters * rows.columns;
    return rows;
  }

  Bytes Size() const {
    return Bytes(sizeof(float)) * SaturatingAdd(total, tile) + Bytes(sizeof(int64_t)) * taps;
  }
};

// See MakeRowConvolution.
class RowConvolution final : public Kernel {
 public:
  explicit RowConvolution(const FloatConvolution& wanted)
      : shape_(wanted.shape),
        block_(wanted.source_blocked ? BlockSize() : 1),
        output_block_(wanted.destination_blocked ? BlockSize() : 1),
        rows_(RowBuffer::Of(wanted)),
        finish_(wanted.activation) {
    parts_ = std::clamp<int64_t>(Threads(), 1, shape_.window.output[1]);
    WorkspaceLayout workspace;
    for (int64_t part = 0; part < parts_; ++part) {
      buffers_.push_back(workspace.Take(Bytes(sizeof(float)) * rows_.total));
      offsets_.push_back(workspace.Take(Bytes(sizeof(int64_t)) * rows_.taps));
      tiles_.push_back(workspace.Take(Bytes(sizeof(float)) * rows_.tile));
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
            for (int64_t x = 0; x < shape_.window.output[2]; x += rows_.columns) {
              RunRows(call, {image, group, x}, height * part / parts_, height * (part + 1) / parts_,
                      part);
            }
          }
        }
      }
    });
    return {};
  }

 private:
  struct Stretch {
    int64_t image;
    int64_t group;
    int64_t column;  // the first one
  };

  static const float* Input(const KernelCall& call, size_t i) {
    return i < call.inputs.size() ? static_cast<const float*>(call.inputs[i]) : nullptr;
  }

  // Rows [first, end) of a stretch.
  void RunRows(const KernelCall& call, const Stretch& stretch, int64_t first, int64_t end,
               int64_t part) const {
    const Window& window = shape_.window;
    const auto [image, group, column] = stretch;
    const int64_t count = std::min(rows_.columns, window.output[2] - column);
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
        Load(source, group * shape_.GroupChannels(), row, window.begin[2] - column * rows_.stride,
             buffer + row % rows_.slots * rows_.slot);
      }
      loaded = std::max(loaded, bottom);
      PlaceTaps(top, offsets);
      const int64_t places = window.OutputSize();
      const bool plain = output_block_ == 1;
      const int64_t image_filters =
          (shape_.filters + output_block_ - 1) / output_block_ * output_block_;
      const int64_t place = (image * image_filters + group * filters) * places +
                            (y * window.output[2] + column) * output_block_;
      float* const output = static_cast<float*>(call.outputs[0]) + place;
      float* const tile =
          plain ? output : At<float>(call.workspace, tiles_[static_cast<size_t>(part)]);
      const int64_t stride = plain ? places : rows_.columns;
      const bool sums_onto_residual = plain && residual != nullptr;
      for (int64_t f = 0; sums_onto_residual && f < filters; ++f) {
        const float* const from = residual + place + f * places;
        if (from != tile + f * stride) std::copy_n(from, count, tile + f * stride);
      }
      SumShiftedRows({.from = buffer,
                      .offsets = offsets,
                      .weights = Input(call, 1) + group * filters * rows_.taps,
                      .weight_stride = rows_.taps,
                      .taps = rows_.taps,
                      .filters = filters,
                      .count = count,
                      .to = tile,
                      .to_stride = stride,
                      .accumulate = sums_onto_residual});
      for (int64_t f = 0; f < filters; ++f) {
        const float* const added =
            plain || residual == nullptr ? nullptr : residual + place + LaneOf(f);
        finish_.Apply(bias == nullptr ? 0.0f : bias[group * filters + f], added, output_block_,
                      count, tile + f * stride);
      }
      if (!plain) PutInBlocks(tile, count, output);
    }
  }

  // Where the first element of a filter lies in a blocked row.
  int64_t LaneOf(int64_t filter) const {
    return filter / output_block_ * output_block_ * shape_.window.OutputSize() +
           filter % output_block_;
  }

  // One row of all filters; lanes behind the last one become zero.
  void PutInBlocks(const float* tile, int64_t width, float* output) const {
    for (int64_t first = 0; first < shape_.filters; first += output_block_) {
      const int64_t lanes = std::min(output_block_, shape_.filters - first);
      float* const to = output + LaneOf(first);
      TransposeWords(reinterpret_cast<const uint32_t*>(tile + first * rows_.columns), rows_.columns,
                     reinterpret_cast<uint32_t*>(to), output_block_, width, lanes);
      for (int64_t x = 0; lanes < output_block_ && x < width; ++x) {
        std::fill(to + x * output_block_ + lanes, to + (x + 1) * output_block_, 0.0f);
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

  // One row of all channels of a group, with zeros where there is padding: `pad` elements in front,
  // or so many fewer of the input where that is negative.
  void Load(const float* source, int64_t first_channel, int64_t row, int64_t pad,
            float* slot) const {
    const Window& window = shape_.window;
    const int64_t reach = (rows_.length - kShiftedRowSlack) * rows_.stride;
    const int64_t width = std::min(window.input[2], reach - pad);
    const int64_t skipped = std::max<int64_t>(-pad, 0);
    for (int64_t c = 0; c < shape_.GroupChannels(); ++c) {
      const int64_t channel = first_channel + c;
      const float* const from = source + channel / block_ * block_ * window.InputSize() +
                                row * window.input[2] * block_ + channel % block_;
      float* const to = slot + c * rows_.row;
      if (pad > 0 || pad + width < reach) {
        for (int64_t phase = 0; phase < rows_.stride; ++phase) {
          std::fill_n(to + phase * rows_.length, rows_.length - kShiftedRowSlack, 0.0f);
        }
      }
      Spread(from + skipped * block_, width - skipped, pad + skipped, to);
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
  int64_t output_block_;
  RowBuffer rows_;
  RowFinish finish_;
  int64_t parts_ = 1;             // stretches of output rows, one for each thread
  std::vector<int64_t> buffers_;  // places in the workspace, by part
  std::vector<int64_t> offsets_;
  std::vector<int64_t> tiles_;
  Bytes workspace_;
};

}  // namespace

bool SuitsRowConvolution(const KernelSite& site, const FloatConvolution& wanted) {
  const Window& window = wanted.shape.window;
  const bool rows = window.kernel[0] == 1 && window.input[0] == 1 && window.output[0] == 1 &&
                    window.begin[0] == 0 && (window.dilations[1] == 1 || window.kernel[1] == 1);
  const bool puts_in_blocks = wanted.destination_blocked && wanted.shape.groups > 1;
  if (!rows || puts_in_blocks || window.output[2] < kLongRow) return false;
  const Bytes needed = RowBuffer::Of(wanted).Size() * std::max<int64_t>(Threads(), 1);
  return needed <= std::min(site.most_workspace, kMostRowBytes);
}

KernelPointer MakeRowConvolution(const KernelSite&, const FloatConvolution& wanted) {
  return std::make_unique<const RowConvolution>(wanted);
}

}  // namespace plimsoll::kernels::cpu
