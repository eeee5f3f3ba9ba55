#include "kernels/cpu/convolution/depthwise_convolution.h"

#include <algorithm>
#include <vector>

#include "kernels/blocking.h"
#include "kernels/cpu/convolution/rows/row_finish.h"
#include "kernels/cpu/movement/matrix_transpose.h"
#include "kernels/cpu/movement/words_apart.h"
#include "kernels/cpu/vector/plane_sums.h"
#include "kernels/cpu/workspace.h"
#include "kernels/parallel.h"

namespace plimsoll::kernels::cpu {
namespace {

// Rows of one stripe, of all channels that are worked on at once: they stay in the first caches.
constexpr int64_t kStripeFloats = 8 << 10;
// Columns of the output that are worked on at once.
constexpr int64_t kStripeColumns = 2048;
// Multiplications that are worth a thread of their own.
constexpr int64_t kDepthwiseThreadWork = 1 << 16;

// The taps of an axis that meet the input at some output place.
struct LiveTaps {
  int64_t first = 0;
  int64_t count = 0;

  static LiveTaps Of(const Window& window, size_t axis) {
    const auto is_live = [&](int64_t tap) {
      const int64_t at = tap * window.dilations[axis] - window.begin[axis];
      const int64_t last = at + (window.output[axis] - 1) * window.strides[axis];
      return at < window.input[axis] && last >= 0;
    };
    LiveTaps taps{0, window.kernel[axis]};
    while (taps.count > 1 && !is_live(taps.first)) ++taps.first, --taps.count;
    while (taps.count > 1 && !is_live(taps.first + taps.count - 1)) --taps.count;
    return taps;
  }
};

// How stripes of the input and output lie in the workspace. Of the input: [lanes][rows][stride]
// [length], where elements that one tap meets next to each other lie next to each other. Of the
// output, where that is blocked: [lanes][rows][columns].
struct Stripe {
  LiveTaps tap_rows;
  LiveTaps tap_columns;
  int64_t lanes = 1;    // channels at once
  int64_t columns = 0;  // of the output, at most
  int64_t length = 0;
  int64_t row = 0;        // floats
  int64_t rows = 0;       // of the output, at most
  int64_t held_rows = 0;  // of the input, at most
  bool has_tile = false;

  static Stripe Of(const FloatConvolution& wanted) {
    const Window& window = wanted.shape.window;
    Stripe stripe;
    stripe.tap_rows = LiveTaps::Of(window, 1);
    stripe.tap_columns = LiveTaps::Of(window, 2);
    if (wanted.source_blocked || wanted.destination_blocked) stripe.lanes = BlockSize();
    stripe.has_tile = wanted.destination_blocked;
    const int64_t step = window.strides[2];
    stripe.columns = std::min(window.output[2], kStripeColumns / stripe.lanes);
    const int64_t reach =
        (stripe.columns - 1) * step + (stripe.tap_columns.count - 1) * window.dilations[2] + 1;
    stripe.length = (reach + step - 1) / step + kPlaneSlack;
    stripe.row = SaturatingMultiply(step, stripe.length);
    stripe.rows = 1;
    while (stripe.rows < window.output[1]) {
      const int64_t more = std::min(stripe.rows * 2, window.output[1]);
      const int64_t floats = SaturatingMultiply(stripe.HeldRows(window, more), stripe.row);
      if (SaturatingMultiply(floats, stripe.lanes) > kStripeFloats) break;
      stripe.rows = more;
    }
    stripe.held_rows = stripe.HeldRows(window, stripe.rows);
    return stripe;
  }

  int64_t HeldRows(const Window& window, int64_t output_rows) const {
    return std::min(
        (output_rows - 1) * window.strides[1] + (tap_rows.count - 1) * window.dilations[1] + 1,
        window.input[1]);
  }
  int64_t LaneFloats() const { return SaturatingMultiply(held_rows, row); }
  int64_t TileLane() const { return rows * columns; }
  Bytes HeldSize() const { return Bytes(sizeof(float)) * SaturatingMultiply(LaneFloats(), lanes); }
  Bytes TileSize() const { return Bytes(sizeof(float)) * (has_tile ? TileLane() * lanes : 0); }
  Bytes OffsetsSize() const {
    return Bytes(sizeof(int64_t)) * (rows * tap_rows.count + tap_columns.count);
  }
  // Of all, with the parts aligned.
  Bytes Size() const {
    WorkspaceLayout workspace;
    for (const Bytes part : {HeldSize(), TileSize(), OffsetsSize()}) workspace.Take(part);
    return workspace.total();
  }
};

// See MakeDepthwiseConvolution.
class DepthwiseConvolution final : public Kernel {
 public:
  DepthwiseConvolution(const KernelSite& site, const FloatConvolution& wanted)
      : shape_(wanted.shape),
        source_blocked_(wanted.source_blocked),
        stripe_(Stripe::Of(wanted)),
        units_(wanted.shape.batch * Blocks()),
        met_rows_(PhasesOf(1, stripe_.tap_rows)),
        met_columns_(PhasesOf(2, stripe_.tap_columns)),
        finish_(wanted.activation) {
    const int64_t work = shape_.window.KernelSize() * shape_.window.OutputSize() *
                         shape_.GroupFilters() * shape_.batch * shape_.channels;
    const int64_t room = site.most_workspace.value() / std::max<int64_t>(stripe_.Size().value(), 1);
    parts_ = std::clamp<int64_t>(std::min(work / kDepthwiseThreadWork, room), 1,
                                 std::min<int64_t>(Threads(), units_));
    WorkspaceLayout workspace;
    for (int64_t part = 0; part < parts_; ++part) {
      held_.push_back(workspace.Take(stripe_.HeldSize()));
      tiles_.push_back(workspace.Take(stripe_.TileSize()));
      offsets_.push_back(workspace.Take(stripe_.OffsetsSize()));
    }
    workspace_ = workspace.total();
  }

  Bytes workspace() const override { return workspace_; }
  std::string_view implementation() const override { return "ours:depthwise"; }
  std::string_view workspace_purpose() const override { return "rows of the input, padded"; }

  Status Run(const KernelCall& call) const override {
    ParallelFor(parts_, 1, [&](int64_t begin, int64_t end) {
      for (int64_t part = begin; part < end; ++part) {
        const auto i = static_cast<size_t>(part);
        Part own{.call = call,
                 .held = At<float>(call.workspace, held_[i]),
                 .tile = At<float>(call.workspace, tiles_[i]),
                 .row_offsets = At<int64_t>(call.workspace, offsets_[i]),
                 .area = {}};
        own.column_offsets = own.row_offsets + stripe_.rows * stripe_.tap_rows.count;
        PlaceColumns(own.column_offsets);
        for (int64_t u = units_ * part / parts_; u < units_ * (part + 1) / parts_; ++u) {
          RunUnit(own, u);
        }
      }
    });
    return {};
  }

 private:
  // Output places [y, y + rows) x [x, x + columns).
  struct Area {
    int64_t y = -1;
    int64_t rows = 0;
    int64_t x = -1;
    int64_t columns = 0;
  };

  struct Part {
    const KernelCall& call;
    float* held = nullptr;
    float* tile = nullptr;
    int64_t* row_offsets = nullptr;
    int64_t* column_offsets = nullptr;
    Area area;  // that offsets and padding are for
  };

  static const float* Input(const KernelCall& call, size_t i) {
    return i < call.inputs.size() ? static_cast<const float*>(call.inputs[i]) : nullptr;
  }

  std::vector<bool> PhasesOf(size_t axis, const LiveTaps& taps) const {
    return PhasesThatTapsMeet(taps.count, shape_.window.dilations[axis],
                              shape_.window.strides[axis]);
  }

  int64_t Blocks() const { return (shape_.channels + stripe_.lanes - 1) / stripe_.lanes; }

  void PlaceColumns(int64_t* offsets) const {
    const int64_t step = shape_.window.strides[2];
    for (int64_t b = 0; b < stripe_.tap_columns.count; ++b) {
      const int64_t at = b * shape_.window.dilations[2];
      offsets[b] = at % step * stripe_.length + at / step;
    }
  }

  // Channels of one image that are worked on at once.
  void RunUnit(Part& own, int64_t unit) const {
    const Window& window = shape_.window;
    const int64_t image = unit / Blocks();
    const int64_t channel = unit % Blocks() * stripe_.lanes;
    for (int64_t y = 0; y < window.output[1]; y += stripe_.rows) {
      const int64_t rows = std::min(stripe_.rows, window.output[1] - y);
      for (int64_t x = 0; x < window.output[2]; x += stripe_.columns) {
        const Area area{y, rows, x, std::min(stripe_.columns, window.output[2] - x)};
        Load(own, image, channel, area);
        if (stripe_.has_tile) {
          RunToBlock(own, image, channel, area);
        } else {
          RunToPlanes(own, image, channel, area);
        }
      }
    }
  }

  void RunToPlanes(const Part& own, int64_t image, int64_t channel, const Area& area) const {
    const Window& window = shape_.window;
    const int64_t lanes = std::min(stripe_.lanes, shape_.channels - channel);
    const float* const residual = Input(own.call, 3);
    const int64_t multiplier = shape_.GroupFilters();
    for (int64_t i = 0; i < lanes * multiplier; ++i) {
      const int64_t filter = channel * multiplier + i;
      const int64_t place = (image * shape_.filters + filter) * window.OutputSize() +
                            area.y * window.output[2] + area.x;
      float* const to = static_cast<float*>(own.call.outputs[0]) + place;
      Sum(own, filter, i / multiplier, area, residual == nullptr ? nullptr : residual + place, to,
          window.output[2]);
      if (area.columns == window.output[2]) {
        finish_.Apply(0, nullptr, 1, area.rows * area.columns, to);
        continue;
      }
      for (int64_t row = 0; row < area.rows; ++row) {
        finish_.Apply(0, nullptr, 1, area.columns, to + row * window.output[2]);
      }
    }
  }

  // By way of the tile; lanes behind the last channel become zero.
  void RunToBlock(const Part& own, int64_t image, int64_t channel, const Area& area) const {
    const Window& window = shape_.window;
    const int64_t lanes = std::min(stripe_.lanes, shape_.channels - channel);
    const int64_t count = area.rows * area.columns;
    const float* const residual = Input(own.call, 3);
    const int64_t place = (image * Blocks() * stripe_.lanes + channel) * window.OutputSize() +
                          (area.y * window.output[2] + area.x) * stripe_.lanes;
    for (int64_t row = 0; residual != nullptr && row < area.rows; ++row) {
      TransposeWords(reinterpret_cast<const uint32_t*>(residual + place +
                                                       row * window.output[2] * stripe_.lanes),
                     stripe_.lanes, reinterpret_cast<uint32_t*>(own.tile + row * area.columns),
                     stripe_.TileLane(), lanes, area.columns);
    }
    for (int64_t lane = 0; lane < stripe_.lanes; ++lane) {
      float* const to = own.tile + lane * stripe_.TileLane();
      if (lane >= lanes) {
        std::fill_n(to, count, 0.0f);
        continue;
      }
      Sum(own, channel + lane, lane, area, residual == nullptr ? nullptr : to, to, area.columns);
      finish_.Apply(0, nullptr, 1, count, to);
    }
    float* const output = static_cast<float*>(own.call.outputs[0]) + place;
    for (int64_t row = 0; row < area.rows; ++row) {
      TransposeWords(reinterpret_cast<const uint32_t*>(own.tile + row * area.columns),
                     stripe_.TileLane(),
                     reinterpret_cast<uint32_t*>(output + row * window.output[2] * stripe_.lanes),
                     stripe_.lanes, area.columns, stripe_.lanes);
    }
  }

  void Sum(const Part& own, int64_t filter, int64_t lane, const Area& area, const float* residual,
           float* to, int64_t to_stride) const {
    const Window& window = shape_.window;
    const float* const bias = Input(own.call, 2);
    SumPlane({.from = own.held + lane * stripe_.LaneFloats(),
              .row_offsets = own.row_offsets,
              .column_offsets = own.column_offsets,
              .weights = Input(own.call, 1) + filter * window.KernelSize() +
                         stripe_.tap_rows.first * window.kernel[2] + stripe_.tap_columns.first,
              .weight_stride = window.kernel[2],
              .tap_rows = stripe_.tap_rows.count,
              .tap_columns = stripe_.tap_columns.count,
              .bias = bias == nullptr ? 0.0f : bias[filter],
              .residual = residual,
              .rows = area.rows,
              .columns = area.columns,
              .to = to,
              .to_stride = to_stride});
  }

  // Brings the rows that an area looks at.
  void Load(Part& own, int64_t image, int64_t channel, const Area& area) const {
    const Window& window = shape_.window;
    const int64_t top =
        area.y * window.strides[1] - window.begin[1] + stripe_.tap_rows.first * window.dilations[1];
    const int64_t reach = (area.rows - 1) * window.strides[1] +
                          (stripe_.tap_rows.count - 1) * window.dilations[1] + 1;
    const int64_t first = std::clamp<int64_t>(top, 0, window.input[1]);
    const int64_t end = std::clamp<int64_t>(top + reach, 0, window.input[1]);
    const int64_t left = area.x * window.strides[2] - window.begin[2] +
                         stripe_.tap_columns.first * window.dilations[2];
    const int64_t block = source_blocked_ ? stripe_.lanes : 1;
    const int64_t channels = (shape_.channels + block - 1) / block * block;
    const float* const source =
        Input(own.call, 0) + (image * channels + channel) * window.InputSize();
    const int64_t lanes = std::min(stripe_.lanes, shape_.channels - channel);
    if (area.x != own.area.x) PadRows(left, own.held);
    for (int64_t row = first; row < end; ++row) {
      if (!met_rows_[static_cast<size_t>((row - top) % window.strides[1])]) continue;
      float* const to = own.held + (row - first) * stripe_.row;
      if (source_blocked_) {
        LoadRow(source + row * window.input[2] * block, left, lanes, to);
        continue;
      }
      for (int64_t lane = 0; lane < lanes; ++lane) {
        LoadRow(source + lane * window.InputSize() + row * window.input[2], left, 1,
                to + lane * stripe_.LaneFloats());
      }
    }
    if (area.y != own.area.y) {
      for (int64_t i = 0; i < area.rows; ++i) {
        for (int64_t a = 0; a < stripe_.tap_rows.count; ++a) {
          const int64_t row = top + i * window.strides[1] + a * window.dilations[1];
          const bool inside = row >= first && row < end;
          own.row_offsets[i * stripe_.tap_rows.count + a] =
              inside ? (row - first) * stripe_.row : int64_t{-1};
        }
      }
    }
    own.area = area;
  }

  // Where the elements of one phase that begins at column `at` lie in a row that is held; the
  // others are padding.
  struct Inside {
    int64_t low = 0;
    int64_t high = 0;
  };
  Inside InsideOf(int64_t at) const {
    const int64_t step = shape_.window.strides[2];
    const int64_t length = stripe_.length - kPlaneSlack;
    const int64_t low = std::min(at >= 0 ? 0 : (-at + step - 1) / step, length);
    const int64_t inside = shape_.window.input[2] - at;
    return {low, std::clamp(inside <= 0 ? 0 : (inside - 1) / step + 1, low, length)};
  }

  // The padding of all rows, which no element is ever put into.
  void PadRows(int64_t left, float* held) const {
    const int64_t length = stripe_.length - kPlaneSlack;
    for (int64_t phase = 0; phase < shape_.window.strides[2]; ++phase) {
      if (!met_columns_[static_cast<size_t>(phase)]) continue;
      const Inside inside = InsideOf(left + phase);
      for (int64_t i = 0; i < stripe_.lanes * stripe_.held_rows; ++i) {
        float* const row = held + i * stripe_.row + phase * stripe_.length;
        std::fill(row, row + inside.low, 0.0f);
        std::fill(row + inside.high, row + length, 0.0f);
      }
    }
  }

  // Elements of some lanes from column `left` on, which is in the padding where it is below 0.
  void LoadRow(const float* from, int64_t left, int64_t lanes, float* to) const {
    const int64_t step = shape_.window.strides[2];
    const int64_t block = source_blocked_ ? stripe_.lanes : 1;
    for (int64_t phase = 0; phase < step; ++phase) {
      if (!met_columns_[static_cast<size_t>(phase)]) continue;
      const int64_t at = left + phase;
      float* const row = to + phase * stripe_.length;
      const auto [low, high] = InsideOf(at);
      if (low == high) continue;
      const float* const first = from + (at + low * step) * block;
      if (block > 1) {
        TransposeWords(reinterpret_cast<const uint32_t*>(first), block * step,
                       reinterpret_cast<uint32_t*>(row + low), stripe_.LaneFloats(), lanes,
                       high - low);
      } else if (step == 1) {
        std::copy_n(first, high - low, row + low);
      } else {
        TakeWordsApart(first, step, high - low, row + low);
      }
    }
  }

  ConvolutionShape shape_;
  bool source_blocked_;
  Stripe stripe_;
  int64_t units_;
  std::vector<bool> met_rows_;  // by how far they are behind a multiple of the stride
  std::vector<bool> met_columns_;
  RowFinish finish_;
  int64_t parts_ = 1;          // stretches of units, one for each thread
  std::vector<int64_t> held_;  // places in the workspace, by part
  std::vector<int64_t> tiles_;
  std::vector<int64_t> offsets_;
  Bytes workspace_;
};

}  // namespace

bool SuitsDepthwiseConvolution(const KernelSite& site, const FloatConvolution& wanted) {
  const Window& window = wanted.shape.window;
  const bool rows = window.kernel[0] == 1 && window.input[0] == 1 && window.output[0] == 1 &&
                    window.begin[0] == 0;
  const bool spreads = wanted.destination_blocked && wanted.shape.GroupFilters() > 1;
  if (!rows || spreads || wanted.shape.GroupChannels() > 1) return false;
  return Stripe::Of(wanted).Size() <= site.most_workspace;
}

KernelPointer MakeDepthwiseConvolution(const KernelSite& site, const FloatConvolution& wanted) {
  return std::make_unique<const DepthwiseConvolution>(site, wanted);
}

}  // namespace plimsoll::kernels::cpu
