#include "kernels/cpu/convolution/rows/row_convolution.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <vector>

#include "kernels/blocking.h"
#include "kernels/cpu/convolution/image_form.h"
#include "kernels/cpu/convolution/rows/row_finish.h"
#include "kernels/cpu/convolution/rows/shifted_rows.h"
#include "kernels/cpu/movement/matrix_transpose.h"
#include "kernels/cpu/workspace.h"
#include "kernels/parallel.h"

namespace plimsoll::kernels::cpu {
namespace {

constexpr Bytes kMostRowBytes = Bytes(512 << 10);
// Columns of the output that are worked on at once: longer rows come in stretches.
constexpr int64_t kRowStretch = 2048;
// Held rows stay in the first cache, unless so few fit that most of them would be brought again.
constexpr int64_t kHeldFloats = 6 << 10;
constexpr int64_t kFewRows = 4;
// Columns of a tile of sums with the widest vectors, and the fewest tiles of a stretch of a row.
constexpr int64_t kTileColumns = 48;
constexpr int64_t kVectorColumns = 16;
constexpr int64_t kFewTiles = 4;
// Sums are made in vectors of this many.
constexpr int64_t kRowSums = 8;
// The least share of sums that somebody needs.
constexpr double kUsefulSums = 0.6;
// Multiplications that are worth a thread of their own.
constexpr int64_t kRowThreadWork = 1 << 17;

// How a stripe of the input lies in the workspace: [channels of a group][planes that one place of
// the output looks at][stride of rows][stride of columns][rows][pitch]. Elements that one tap meets
// next to each other lie next to each other, and so do rows: where sums run on from row to row, a
// tap is one shift for all of them.
struct RowStripe {
  int64_t rows = 0;     // of the output, at most
  int64_t columns = 0;  // likewise
  int64_t pitch = 0;
  int64_t phase_rows = 0;
  int64_t plane = 0;     // floats of one plane of one channel
  int64_t held = 0;      // floats of all of them
  bool runs_on = false;  // sums run on from row to row
  int64_t tile_row = 0;  // floats from row to row of the sums that are put elsewhere afterwards
  int64_t tile = 0;      // floats of these sums for all filters; 0: there are none

  static RowStripe Of(const FloatConvolution& wanted, int64_t columns, int64_t rows) {
    const ConvolutionShape& shape = wanted.shape;
    const Window& window = shape.window;
    const int64_t down = window.strides[1];
    const int64_t right = window.strides[2];
    RowStripe stripe;
    stripe.rows = rows;
    stripe.columns = columns;
    stripe.pitch = ((columns - 1) * right + window.Extent(2) + right - 1) / right;
    stripe.phase_rows = ((rows - 1) * down + window.Extent(1) + down - 1) / down;
    stripe.plane =
        SaturatingMultiply(SaturatingMultiply(down * right, stripe.phase_rows), stripe.pitch);
    stripe.held = SaturatingAdd(
        SaturatingMultiply(SaturatingMultiply(shape.GroupChannels(), window.kernel[0]),
                           stripe.plane),
        kShiftedRowSlack);
    const int64_t rounded = (columns + kRowSums - 1) / kRowSums * kRowSums;
    stripe.runs_on = rows > 1 && stripe.pitch < rounded;
    stripe.tile_row = stripe.runs_on ? stripe.pitch : columns;
    if (stripe.runs_on || wanted.destination_blocked) {
      stripe.tile = SaturatingMultiply(shape.GroupFilters(), stripe.TileFilter());
    }
    return stripe;
  }

  // Columns of about as long stretches of a row, of which all threads get equally many.
  static int64_t EvenStretch(const ConvolutionShape& shape, int64_t columns) {
    const int64_t all = shape.window.output[2];
    const auto stretches_of = [&](int64_t length) { return (all + length - 1) / length; };
    const int64_t step = Threads() / std::gcd(int64_t{Threads()}, shape.batch * shape.groups);
    int64_t stretches = stretches_of(columns);
    if (step * kTileColumns <= all) stretches = (stretches + step - 1) / step * step;
    const int64_t even = (all + stretches - 1) / stretches;
    return std::min((even + kVectorColumns - 1) / kVectorColumns * kVectorColumns, all);
  }

  static RowStripe Of(const KernelSite& site, const FloatConvolution& wanted) {
    const ConvolutionShape& shape = wanted.shape;
    const int64_t height = shape.window.output[1];
    // Enough stripes for all threads.
    const int64_t threads = 2 * int64_t{Threads()};
    const int64_t share = height * shape.window.output[0] * shape.batch * shape.groups / threads;
    int64_t columns = std::min(shape.window.output[2], kRowStretch);
    if (shape.window.KernelSize() == 1 && height == 1) {
      const int64_t wanted_columns =
          std::min(kHeldFloats / shape.GroupChannels(),
                   shape.window.output[2] * shape.batch * shape.groups / threads);
      columns =
          std::min(columns, std::max(wanted_columns / kTileColumns, kFewTiles) * kTileColumns);
      columns = EvenStretch(shape, columns);
    }
    const int64_t most = std::clamp<int64_t>(share, 1, height);
    const Bytes room = std::min(kMostRowBytes, Bytes(site.most_workspace.value() / Threads()));
    RowStripe best = Of(wanted, columns, 1);
    for (int64_t rows = 2; rows <= most; ++rows) {
      const RowStripe next = Of(wanted, columns, rows);
      if (rows > kFewRows && next.held > kHeldFloats) break;
      if (next.Size() > room) break;
      best = next;
    }
    return best;
  }

  int64_t Stripes(const ConvolutionShape& shape) const {
    return (shape.window.output[1] + rows - 1) / rows;
  }
  int64_t Stretches(const ConvolutionShape& shape) const {
    return (shape.window.output[2] + columns - 1) / columns;
  }
  // Stripes of all images, groups and planes.
  int64_t Units(const ConvolutionShape& shape) const {
    return shape.batch * shape.groups * shape.window.output[0] * Stripes(shape) * Stretches(shape);
  }
  // That share the work: each needs a place in the workspace.
  int64_t ThreadsFor(const ConvolutionShape& shape, Bytes most_workspace) const {
    const int64_t room = most_workspace.value() / std::max<int64_t>(Size().value(), 1);
    return std::clamp<int64_t>(room, 1, std::min(ThreadsWorthIt(shape), Units(shape)));
  }
  static int64_t ThreadsWorthIt(const ConvolutionShape& shape) {
    const int64_t work =
        SaturatingMultiply(shape.batch * shape.filters * shape.window.OutputSize(),
                           SaturatingMultiply(shape.GroupChannels(), shape.window.KernelSize()));
    return std::clamp<int64_t>(work / kRowThreadWork, 1, Threads());
  }

  int64_t TileFilter() const { return rows * tile_row; }
  // The share of sums that somebody needs.
  double Useful() const {
    const int64_t rounded = (columns + kRowSums - 1) / kRowSums * kRowSums;
    return static_cast<double>(columns) / static_cast<double>(runs_on ? pitch : rounded);
  }
  // Of both, with the parts aligned.
  Bytes Size() const {
    WorkspaceLayout workspace;
    for (const int64_t floats : {held, tile}) workspace.Take(Bytes(sizeof(float)) * floats);
    return workspace.total();
  }
};

// A single tap looks at one place for each: all of them are one row, whatever their axes.
FloatConvolution WithOneRow(FloatConvolution wanted) {
  Window& window = wanted.shape.window;
  constexpr Window::Sizes kOnes = {1, 1, 1};
  if (window.KernelSize() == 1 && window.strides == kOnes && window.input == window.output) {
    window.input = window.output = {1, 1, window.InputSize()};
  }
  return wanted;
}

// See MakeRowConvolution.
class RowConvolution final : public Kernel {
 public:
  RowConvolution(const KernelSite& site, const FloatConvolution& wanted)
      : shape_(wanted.shape),
        source_{wanted.shape.window.InputSize(), wanted.source_blocked ? BlockSize() : 1},
        destination_{wanted.shape.window.OutputSize(),
                     wanted.destination_blocked ? BlockSize() : 1},
        stripe_(RowStripe::Of(site, wanted)),
        finish_(wanted.activation) {
    stripes_ = stripe_.Stripes(shape_);
    stretches_ = stripe_.Stretches(shape_);
    parts_ = stripe_.ThreadsFor(shape_, site.most_workspace);
    WorkspaceLayout workspace;
    for (int64_t part = 0; part < parts_; ++part) {
      held_.push_back(workspace.Take(Bytes(sizeof(float)) * stripe_.held));
      tiles_.push_back(workspace.Take(Bytes(sizeof(float)) * stripe_.tile));
    }
    workspace_ = workspace.total();
    PlaceTaps();
  }

  Bytes workspace() const override { return workspace_; }
  std::string_view implementation() const override { return "ours:rows"; }
  std::string_view workspace_purpose() const override { return "rows of the input, padded"; }

  Status Run(const KernelCall& call) const override {
    ParallelPieces(Units(), parts_, [&](int64_t unit, int64_t part) {
      float* const held = At<float>(call.workspace, held_[static_cast<size_t>(part)]);
      float* const tile = At<float>(call.workspace, tiles_[static_cast<size_t>(part)]);
      std::fill_n(held + stripe_.held - kShiftedRowSlack, kShiftedRowSlack, 0.0f);
      RunUnit(call, unit, held, tile);
    });
    return {};
  }

 private:
  // Output places [y, y + rows) x [x, x + columns) of plane z of one group's filters.
  struct Area {
    int64_t image;
    int64_t group;
    int64_t z;
    int64_t y;
    int64_t rows;
    int64_t x;
    int64_t columns;
  };

  static const float* Input(const KernelCall& call, size_t i) {
    return i < call.inputs.size() ? static_cast<const float*>(call.inputs[i]) : nullptr;
  }

  int64_t Units() const { return stripe_.Units(shape_); }

  void PlaceTaps() {
    const Window& window = shape_.window;
    met_rows_ = PhasesThatTapsMeet(window.kernel[1], window.dilations[1], window.strides[1]);
    met_columns_ = PhasesThatTapsMeet(window.kernel[2], window.dilations[2], window.strides[2]);
    const int64_t down = window.strides[1];
    const int64_t right = window.strides[2];
    for (int64_t plane = 0; plane < shape_.GroupChannels() * window.kernel[0]; ++plane) {
      for (int64_t a = 0; a < window.kernel[1]; ++a) {
        const int64_t row = a * window.dilations[1];
        for (int64_t b = 0; b < window.kernel[2]; ++b) {
          const int64_t column = b * window.dilations[2];
          const int64_t phase = row % down * right + column % right;
          taps_.push_back(plane * stripe_.plane +
                          (phase * stripe_.phase_rows + row / down) * stripe_.pitch +
                          column / right);
        }
      }
    }
  }

  void RunUnit(const KernelCall& call, int64_t unit, float* held, float* tile) const {
    const Window& window = shape_.window;
    Area area{};
    area.x = unit % stretches_ * stripe_.columns;
    area.columns = std::min(stripe_.columns, window.output[2] - area.x);
    area.y = unit / stretches_ % stripes_ * stripe_.rows;
    area.rows = std::min(stripe_.rows, window.output[1] - area.y);
    unit /= stretches_ * stripes_;
    area.z = unit % window.output[0];
    area.group = unit / window.output[0] % shape_.groups;
    area.image = unit / window.output[0] / shape_.groups;
    Load(call, area, held);
    if (stripe_.tile == 0) return SumToOutput(call, area, held);
    Sum(call, area, held, tile, stripe_.TileFilter(), stripe_.tile_row, false);
    if (destination_.block == 1) {
      MoveToPlanes(call, area, tile);
    } else {
      MoveToBlocks(call, area, tile);
    }
  }

  void Sum(const KernelCall& call, const Area& area, const float* held, float* to,
           int64_t filter_stride, int64_t row_stride, bool accumulate) const {
    const int64_t filters = shape_.GroupFilters();
    const auto taps = static_cast<int64_t>(taps_.size());
    ShiftedRows sums{.from = held,
                     .offsets = taps_.data(),
                     .weights = Input(call, 1) + area.group * filters * taps,
                     .weight_stride = taps,
                     .bias = Bias(call, area),
                     .taps = taps,
                     .filters = filters,
                     .count = area.columns,
                     .to = to,
                     .to_stride = filter_stride,
                     .accumulate = accumulate};
    if (stripe_.runs_on) {
      sums.count = (area.rows - 1) * stripe_.pitch + area.columns;
    } else {
      sums.rows = area.rows;
      sums.from_row = stripe_.pitch;
      sums.to_row = row_stride;
    }
    SumShiftedRows(sums);
  }

  // Where the first place of an area lies in the output, for a filter of its group.
  int64_t PlaceOf(const Area& area, int64_t filter) const {
    return area.image * destination_.Elements(shape_.filters) +
           destination_.At(area.group * shape_.GroupFilters() + filter) +
           ((area.z * shape_.window.output[1] + area.y) * shape_.window.output[2] + area.x) *
               destination_.block;
  }

  // Of the filters of an area's group; null where there is none.
  const float* Bias(const KernelCall& call, const Area& area) const {
    const float* const bias = Input(call, 2);
    return bias == nullptr ? nullptr : bias + area.group * shape_.GroupFilters();
  }

  void SumToOutput(const KernelCall& call, const Area& area, const float* held) const {
    const int64_t width = shape_.window.output[2];
    const float* const residual = Input(call, 3);
    float* const output = static_cast<float*>(call.outputs[0]);
    for (int64_t f = 0; residual != nullptr && f < shape_.GroupFilters(); ++f) {
      for (int64_t y = 0; y < area.rows; ++y) {
        const int64_t place = PlaceOf(area, f) + y * width;
        if (residual != output) std::copy_n(residual + place, area.columns, output + place);
      }
    }
    Sum(call, area, held, output + PlaceOf(area, 0), destination_.places, width,
        residual != nullptr);
    for (int64_t f = 0; f < shape_.GroupFilters(); ++f) FinishPlanes(call, area, f);
  }

  void FinishPlanes(const KernelCall& call, const Area& area, int64_t filter) const {
    const int64_t width = shape_.window.output[2];
    float* const to = static_cast<float*>(call.outputs[0]) + PlaceOf(area, filter);
    if (area.columns == width) return finish_.Apply(0, nullptr, 1, area.rows * width, to);
    for (int64_t y = 0; y < area.rows; ++y) {
      finish_.Apply(0, nullptr, 1, area.columns, to + y * width);
    }
  }

  void MoveToPlanes(const KernelCall& call, const Area& area, const float* tile) const {
    const int64_t width = shape_.window.output[2];
    const float* const residual = Input(call, 3);
    for (int64_t f = 0; f < shape_.GroupFilters(); ++f) {
      const int64_t place = PlaceOf(area, f);
      float* const to = static_cast<float*>(call.outputs[0]) + place;
      const float* const from = tile + f * stripe_.TileFilter();
      for (int64_t y = 0; y < area.rows; ++y) {
        const float* const row = from + y * stripe_.tile_row;
        float* const out = to + y * width;
        if (residual == nullptr) {
          std::copy_n(row, area.columns, out);
          continue;
        }
        const float* const added = residual + place + y * width;
        if (added != out) std::copy_n(added, area.columns, out);
        RowAddTo(row, area.columns, 1.0f, out);
      }
      FinishPlanes(call, area, f);
    }
  }

  // Lanes behind the last filter become zero.
  void MoveToBlocks(const KernelCall& call, const Area& area, float* tile) const {
    const int64_t block = destination_.block;
    const int64_t filters = shape_.GroupFilters();
    const int64_t width = shape_.window.output[2] * block;
    const float* const residual = Input(call, 3);
    for (int64_t f = 0; f < filters; ++f) {
      for (int64_t y = 0; y < area.rows; ++y) {
        const float* const added =
            residual == nullptr ? nullptr : residual + PlaceOf(area, f) + y * width;
        finish_.Apply(0, added, block, area.columns,
                      tile + f * stripe_.TileFilter() + y * stripe_.tile_row);
      }
    }
    for (int64_t first = 0; first < filters; first += block) {
      const int64_t lanes = std::min(block, filters - first);
      for (int64_t y = 0; y < area.rows; ++y) {
        float* const to = static_cast<float*>(call.outputs[0]) + PlaceOf(area, first) + y * width;
        const float* const from = tile + first * stripe_.TileFilter() + y * stripe_.tile_row;
        TransposeWords(reinterpret_cast<const uint32_t*>(from), stripe_.TileFilter(),
                       reinterpret_cast<uint32_t*>(to), block, area.columns, lanes);
        for (int64_t x = 0; lanes < block && x < area.columns; ++x) {
          std::fill(to + x * block + lanes, to + (x + 1) * block, 0.0f);
        }
      }
    }
  }

  // Brings the rows that an area looks at, with zeros where there is padding.
  void Load(const KernelCall& call, const Area& area, float* held) const {
    const Window& window = shape_.window;
    const int64_t down = window.strides[1];
    const int64_t right = window.strides[2];
    const float* const source = Input(call, 0) + area.image * source_.Elements(shape_.channels);
    const int64_t front = area.z * window.strides[0] - window.begin[0];
    const int64_t top = area.y * down - window.begin[1];
    const int64_t left = area.x * right - window.begin[2];
    const int64_t rows = (area.rows - 1) * down + window.Extent(1);
    for (int64_t plane = 0; plane < window.kernel[0]; ++plane) {
      for (int64_t i = 0; i < rows; ++i) {
        if (!met_rows_[static_cast<size_t>(i % down)]) continue;
        for (int64_t phase = 0; phase < right; ++phase) {
          if (!met_columns_[static_cast<size_t>(phase)]) continue;
          float* const to =
              held + plane * stripe_.plane +
              ((i % down * right + phase) * stripe_.phase_rows + i / down) * stripe_.pitch;
          LoadRow(source, area.group * shape_.GroupChannels(), front + plane * window.dilations[0],
                  top + i, left + phase, to);
        }
      }
    }
  }

  // One row of all channels of a group: the elements from column `at` on, a stride apart.
  void LoadRow(const float* source, int64_t channel, int64_t plane, int64_t row, int64_t at,
               float* to) const {
    const Window& window = shape_.window;
    const int64_t right = window.strides[2];
    const int64_t channels = shape_.GroupChannels();
    const int64_t apart = window.kernel[0] * stripe_.plane;
    int64_t low = std::min(at >= 0 ? 0 : (-at + right - 1) / right, stripe_.pitch);
    const int64_t inside = window.input[2] - at;
    int64_t high = std::clamp(inside <= 0 ? 0 : (inside - 1) / right + 1, low, stripe_.pitch);
    const bool meets = plane >= 0 && plane < window.input[0] && row >= 0 && row < window.input[1];
    if (!meets) low = high = 0;
    for (int64_t c = 0; c < channels && (low > 0 || high < stripe_.pitch); ++c) {
      float* const own = to + c * apart;
      std::fill(own, own + low, 0.0f);
      std::fill(own + high, own + stripe_.pitch, 0.0f);
    }
    if (low == high) return;
    const int64_t first = (plane * window.input[1] + row) * window.input[2] + at + low * right;
    source_.CopyRows(source, {first, right, high - low}, channel, channels, apart, to + low);
  }

  ConvolutionShape shape_;
  ImageForm source_;
  ImageForm destination_;
  RowStripe stripe_;
  RowFinish finish_;
  int64_t stripes_ = 1;
  int64_t stretches_ = 1;
  int64_t parts_ = 1;                         // shares of the work, one for each thread
  std::vector<int64_t> taps_;                 // where each tap lies, from its output place
  std::vector<bool> met_rows_, met_columns_;  // PhasesThatTapsMeet
  std::vector<int64_t> held_;                 // places in the workspace, by part
  std::vector<int64_t> tiles_;
  Bytes workspace_;
};

}  // namespace

RowSuitability SuitsRowConvolution(const KernelSite& site, const FloatConvolution& given) {
  const FloatConvolution wanted = WithOneRow(given);
  const ConvolutionShape& shape = wanted.shape;
  const bool splits_blocks =
      wanted.destination_blocked && shape.groups > 1 && shape.GroupFilters() % BlockSize() != 0;
  if (splits_blocks) return {};
  // Who serves must not depend on the threads where every bit must not.
  std::optional<ThreadScope> one;
  if (site.deterministic) one.emplace(1);
  const RowStripe stripe = RowStripe::Of(site, wanted);
  const bool suits = stripe.Useful() >= kUsefulSums &&
                     stripe.Size() <= std::min(site.most_workspace, kMostRowBytes);
  return {.suits = suits,
          .idle = static_cast<double>(RowStripe::ThreadsWorthIt(shape)) /
                  static_cast<double>(stripe.ThreadsFor(shape, site.most_workspace))};
}

KernelPointer MakeRowConvolution(const KernelSite& site, const FloatConvolution& wanted) {
  return std::make_unique<const RowConvolution>(site, WithOneRow(wanted));
}

}  // namespace plimsoll::kernels::cpu
