#include "kernels/cpu/convolution/depthwise_blocks.h"

#include <algorithm>
#include <array>
#include <vector>

#include "kernels/blocking.h"
#include "kernels/cpu/convolution/convolution_primitive.h"
#include "kernels/cpu/convolution/rows/row_finish.h"
#include "kernels/cpu/movement/matrix_transpose.h"
#include "kernels/cpu/vector/block_windows.h"
#include "kernels/cpu/workspace.h"
#include "kernels/parallel.h"

namespace plimsoll::kernels::cpu {
namespace {

// Multiplications that are worth a thread of their own.
constexpr int64_t kBlockThreadWork = 1 << 17;
constexpr size_t kMostBlock = 16;
// Of the data of a stripe of rows, brought into blocks.
constexpr int64_t kHeldFloats = 16 << 10;

// The taps of an axis that meet the data from place `origin` on: [first, first + count).
struct MetTaps {
  int64_t first = 0;
  int64_t count = 0;

  static MetTaps Of(const Window& window, size_t axis, int64_t origin) {
    const int64_t step = window.dilations[axis];
    const int64_t first = origin >= 0 ? 0 : (-origin + step - 1) / step;
    const int64_t inside = window.input[axis] - origin;
    const int64_t end = inside <= 0 ? 0 : (inside - 1) / step + 1;
    return {first, std::max<int64_t>(std::min(end, window.kernel[axis]) - first, 0)};
  }
};

// Of a row of taps that is on the stack, where there is no room for all of them.
constexpr int64_t kMostStackTaps = 64;

// Floats of a part's workspace. Data and results that are plain are worked on in stripes of rows,
// in blocks.
struct BlockStripe {
  int64_t rows = 0;  // of the output, at most
  int64_t taps = 0;  // 0: rows of taps come one after the other, onto the sums of those before
  int64_t held = 0;  // 0: the data is in blocks
  int64_t tile = 0;  // 0: the result is

  static BlockStripe Of(const KernelSite& site, const FloatConvolution& wanted) {
    const Window& window = wanted.shape.window;
    const int64_t block = BlockSize();
    const int64_t input_row = window.input[2] * block;
    BlockStripe stripe{.rows = window.output[1], .taps = window.KernelSize() * block};
    if (!wanted.source_blocked) {
      const int64_t fit = (kHeldFloats / input_row - window.Extent(1)) / window.strides[1] + 1;
      stripe.rows = std::clamp<int64_t>(fit, 1, stripe.rows);
      const int64_t reach = (stripe.rows - 1) * window.strides[1] + window.Extent(1);
      stripe.held = SaturatingMultiply(std::min(reach, window.input[1]), input_row);
    }
    if (!wanted.destination_blocked) {
      const int64_t fit = kHeldFloats / (window.output[2] * block);
      stripe.rows = std::clamp<int64_t>(fit, 1, stripe.rows);
      stripe.tile = stripe.rows * window.output[2] * block;
    }
    const bool moves = stripe.held > 0 || stripe.tile > 0;
    if (!moves && stripe.Size() > site.most_workspace && window.kernel[2] <= kMostStackTaps) {
      stripe.taps = 0;
    }
    return stripe;
  }

  Bytes Size() const {
    WorkspaceLayout workspace;
    for (const int64_t floats : {taps, held, tile}) {
      workspace.Take(Bytes(sizeof(float)) * floats);
    }
    return workspace.total();
  }
};

// See depthwise_blocks.h.
class DepthwiseBlocks final : public Kernel {
 public:
  DepthwiseBlocks(const KernelSite& site, const FloatConvolution& wanted)
      : shape_(wanted.shape),
        block_(BlockSize()),
        stripe_(BlockStripe::Of(site, wanted)),
        finish_(wanted.activation) {
    const Window& window = shape_.window;
    const int64_t work = shape_.batch * shape_.channels * window.OutputSize() * window.KernelSize();
    parts_ = std::clamp<int64_t>(
        std::min(work / kBlockThreadWork,
                 site.most_workspace.value() / std::max<int64_t>(stripe_.Size().value(), 1)),
        1, std::min<int64_t>(Threads(), Units()));
    WorkspaceLayout workspace;
    for (int64_t part = 0; part < parts_; ++part) {
      taps_.push_back(workspace.Take(Bytes(sizeof(float)) * stripe_.taps));
      held_.push_back(workspace.Take(Bytes(sizeof(float)) * stripe_.held));
      tiles_.push_back(workspace.Take(Bytes(sizeof(float)) * stripe_.tile));
    }
    workspace_ = workspace.total();
  }

  Bytes workspace() const override { return workspace_; }
  std::string_view implementation() const override { return "ours:depthwise"; }
  std::string_view workspace_purpose() const override { return "the taps of a block of channels"; }

  Status Run(const KernelCall& call) const override {
    ParallelFor(parts_, 1, [&](int64_t begin, int64_t end) {
      for (int64_t part = begin; part < end; ++part) {
        const auto i = static_cast<size_t>(part);
        const Part own{.call = call,
                       .taps = At<float>(call.workspace, taps_[i]),
                       .held = At<float>(call.workspace, held_[i]),
                       .tile = At<float>(call.workspace, tiles_[i])};
        int64_t held = -1;  // the block whose taps these are
        for (int64_t u = Units() * part / parts_; u < Units() * (part + 1) / parts_; ++u) {
          RunPlane(own, u, held);
        }
      }
    });
    return {};
  }

 private:
  struct Part {
    const KernelCall& call;
    float* taps = nullptr;
    float* held = nullptr;
    float* tile = nullptr;
  };

  // A plane of the output of one block of one image.
  struct Plane {
    int64_t image = 0;
    int64_t first = 0;  // channel
    int64_t lanes = 0;
    int64_t number = 0;
  };

  int64_t Blocks() const { return (shape_.channels + block_ - 1) / block_; }
  // Planes of blocks of images.
  int64_t Units() const { return shape_.batch * Blocks() * shape_.window.output[0]; }

  static const float* Input(const KernelCall& call, size_t i) {
    return i < call.inputs.size() ? static_cast<const float*>(call.inputs[i]) : nullptr;
  }

  void RunPlane(const Part& own, int64_t unit, int64_t& held) const {
    const Window& window = shape_.window;
    const int64_t image_block = unit / window.output[0];
    Plane plane{.image = image_block / Blocks(),
                .first = image_block % Blocks() * block_,
                .number = unit % window.output[0]};
    plane.lanes = std::min(block_, shape_.channels - plane.first);
    const int64_t kernel = window.KernelSize();
    if (stripe_.taps == 0) return RunByTapRows(own, plane);
    if (held != plane.first) {
      std::fill_n(own.taps, kernel * block_, 0.0f);
      const float* const weights = Input(own.call, kConvolutionWeights) + plane.first * kernel;
      TransposeWords(reinterpret_cast<const uint32_t*>(weights), kernel,
                     reinterpret_cast<uint32_t*>(own.taps), block_, kernel, plane.lanes);
      held = plane.first;
    }
    for (int64_t y = 0; y < window.output[1]; y += stripe_.rows) {
      RunStripe(own, plane, y, std::min(y + stripe_.rows, window.output[1]));
    }
  }

  // Elements of one block of channels of an image, plain or in blocks.
  int64_t BlockOf(const Plane& plane, int64_t places, bool blocked) const {
    const int64_t channels = blocked ? Blocks() * block_ : shape_.channels;
    return (plane.image * channels + plane.first) * places;
  }

  // Rows [begin, end) of the output.
  void RunStripe(const Part& own, const Plane& plane, int64_t begin, int64_t end) const {
    const Window& window = shape_.window;
    const bool brings = stripe_.held > 0;
    const bool spreads = stripe_.tile > 0;
    const float* source =
        Input(own.call, kConvolutionData) + BlockOf(plane, window.InputSize(), !brings);
    int64_t top_row = 0;  // of the data, where the source begins
    if (brings) {
      top_row =
          std::clamp<int64_t>(begin * window.strides[1] - window.begin[1], 0, window.input[1]);
      const int64_t last = (end - 1) * window.strides[1] - window.begin[1] + window.Extent(1);
      const int64_t rows = std::clamp<int64_t>(last, top_row, window.input[1]) - top_row;
      TransposeWords(reinterpret_cast<const uint32_t*>(source + top_row * window.input[2]),
                     window.InputSize(), reinterpret_cast<uint32_t*>(own.held), block_,
                     rows * window.input[2], plane.lanes);
      source = own.held;
    }
    const int64_t places = (end - begin) * window.output[2];
    const int64_t first_place =
        BlockOf(plane, window.OutputSize(), !spreads) +
        (plane.number * window.output[1] + begin) * window.output[2] * (spreads ? 1 : block_);
    float* const output = static_cast<float*>(own.call.outputs[0]) + first_place;
    const float* residual = Input(own.call, kConvolutionResidual);
    if (residual != nullptr) residual += first_place;
    float* const to = spreads ? own.tile : output;
    if (spreads && residual != nullptr) {
      TransposeWords(reinterpret_cast<const uint32_t*>(residual), window.OutputSize(),
                     reinterpret_cast<uint32_t*>(to), block_, places, plane.lanes);
      residual = to;
    }
    for (int64_t y = begin; y < end; ++y) {
      const int64_t place = (y - begin) * window.output[2] * block_;
      SumRow(own, plane, {y, top_row}, source, residual == nullptr ? nullptr : residual + place,
             to + place);
    }
    finish_.Apply(0, nullptr, 1, places * block_, to);
    if (spreads) {
      TransposeWords(reinterpret_cast<const uint32_t*>(to), block_,
                     reinterpret_cast<uint32_t*>(output), window.OutputSize(), plane.lanes, places);
      return;
    }
    ClearUnused(plane, places, to);
  }

  // Of a plane in blocks: for each row of taps, all rows of the output that meet the data there.
  void RunByTapRows(const Part& own, const Plane& plane) const {
    const Window& window = shape_.window;
    const int64_t taps = window.kernel[2];
    const int64_t row_floats = window.input[2] * block_;
    const int64_t places = window.output[1] * window.output[2];
    const float* const source =
        Input(own.call, kConvolutionData) + BlockOf(plane, window.InputSize(), true);
    const int64_t first_place =
        BlockOf(plane, window.OutputSize(), true) + plane.number * places * block_;
    float* const output = static_cast<float*>(own.call.outputs[0]) + first_place;
    BeginSums(own, plane, first_place, places, output);
    std::array<float, kMostStackTaps * kMostBlock> row_taps{};
    for (int64_t z = 0; z < window.kernel[0]; ++z) {
      const int64_t from_plane =
          plane.number * window.strides[0] - window.begin[0] + z * window.dilations[0];
      if (from_plane < 0 || from_plane >= window.input[0]) continue;
      for (int64_t a = 0; a < window.kernel[1]; ++a) {
        const float* const weights = Input(own.call, kConvolutionWeights) +
                                     plane.first * window.KernelSize() +
                                     (z * window.kernel[1] + a) * taps;
        TransposeWords(reinterpret_cast<const uint32_t*>(weights), window.KernelSize(),
                       reinterpret_cast<uint32_t*>(row_taps.data()), block_, taps, plane.lanes);
        for (int64_t y = 0; y < window.output[1]; ++y) {
          const int64_t row = y * window.strides[1] - window.begin[1] + a * window.dilations[1];
          if (row < 0 || row >= window.input[1]) continue;
          float* const to = output + y * window.output[2] * block_;
          SumBlockWindow({.block = block_,
                          .from = source + (from_plane * window.input[1] + row) * row_floats,
                          .tap_planes = 1,
                          .tap_rows = 1,
                          .tap_columns = taps,
                          .weights = row_taps.data(),
                          .input_columns = window.input[2],
                          .column_stride = window.strides[2],
                          .column_dilation = window.dilations[2],
                          .left = window.begin[2],
                          .residual = to,
                          .columns = window.output[2],
                          .to = to});
        }
      }
    }
    finish_.Apply(0, nullptr, 1, places * block_, output);
    ClearUnused(plane, places, output);
  }

  // Bias and residual.
  void BeginSums(const Part& own, const Plane& plane, int64_t first_place, int64_t places,
                 float* output) const {
    const std::array<float, kMostBlock> bias = BiasOf(own, plane);
    const float* residual = Input(own.call, kConvolutionResidual);
    if (residual != nullptr) residual += first_place;
    for (int64_t x = 0; x < places; ++x) {
      for (int64_t lane = 0; lane < block_; ++lane) {
        const int64_t at = x * block_ + lane;
        const float sum = bias[static_cast<size_t>(lane)];
        output[at] = residual == nullptr ? sum : sum + residual[at];
      }
    }
  }

  std::array<float, kMostBlock> BiasOf(const Part& own, const Plane& plane) const {
    std::array<float, kMostBlock> bias{};
    if (const float* const given = Input(own.call, kConvolutionBias)) {
      std::copy_n(given + plane.first, plane.lanes, bias.data());
    }
    return bias;
  }

  // Lanes behind the last channel become zero.
  void ClearUnused(const Plane& plane, int64_t places, float* to) const {
    for (int64_t x = 0; plane.lanes < block_ && x < places; ++x) {
      std::fill(to + x * block_ + plane.lanes, to + (x + 1) * block_, 0.0f);
    }
  }

  // A row of the output, and the row of the data where the source begins.
  struct OutputRow {
    int64_t y = 0;
    int64_t source_row = 0;
  };

  void SumRow(const Part& own, const Plane& plane, OutputRow row, const float* source,
              const float* residual, float* to) const {
    const Window& window = shape_.window;
    const std::array<float, kMostBlock> bias = BiasOf(own, plane);
    const int64_t row_floats = window.input[2] * block_;
    const int64_t front = plane.number * window.strides[0] - window.begin[0];
    const MetTaps planes = MetTaps::Of(window, 0, front);
    const int64_t top = row.y * window.strides[1] - window.begin[1];
    const MetTaps rows = MetTaps::Of(window, 1, top);
    const int64_t z0 = front + planes.first * window.dilations[0];
    const int64_t y0 = top + rows.first * window.dilations[1] - row.source_row;
    SumBlockWindow({.block = block_,
                    .from = source + (z0 * window.input[1] + y0) * row_floats,
                    .tap_planes = rows.count == 0 ? 0 : planes.count,
                    .plane_step = window.dilations[0] * window.input[1] * row_floats,
                    .tap_rows = rows.count,
                    .row_step = window.dilations[1] * row_floats,
                    .tap_columns = window.kernel[2],
                    .weights = own.taps + (planes.first * window.kernel[1] + rows.first) *
                                              window.kernel[2] * block_,
                    .weight_plane = window.kernel[1] * window.kernel[2] * block_,
                    .weight_row = window.kernel[2] * block_,
                    .input_columns = window.input[2],
                    .column_stride = window.strides[2],
                    .column_dilation = window.dilations[2],
                    .left = window.begin[2],
                    .bias = bias.data(),
                    .residual = residual,
                    .columns = window.output[2],
                    .to = to});
  }

  ConvolutionShape shape_;
  int64_t block_;
  BlockStripe stripe_;
  RowFinish finish_;
  int64_t parts_ = 1;          // stretches of units, one for each thread
  std::vector<int64_t> taps_;  // places in the workspace, by part
  std::vector<int64_t> held_;
  std::vector<int64_t> tiles_;
  Bytes workspace_;
};

}  // namespace

bool SuitsDepthwiseBlocks(const KernelSite& site, const FloatConvolution& wanted) {
  constexpr int64_t kShortRow = 16;
  const ConvolutionShape& shape = wanted.shape;
  const Window& window = shape.window;
  if (shape.groups != shape.channels || shape.groups != shape.filters) return false;
  if (BlockStripe::Of(site, wanted).Size() > site.most_workspace) return false;
  if (wanted.source_blocked && wanted.destination_blocked) return true;
  const bool planes = window.input[0] == 1 && window.kernel[0] == 1 && window.output[0] == 1 &&
                      window.begin[0] == 0;
  if (!planes) return false;
  if (wanted.source_blocked || wanted.destination_blocked) return true;
  // Both are moved: this pays where vectors over a row would be partly empty.
  const bool fills = shape.channels >= BlockSize();
  return fills && window.KernelSize() > 1 &&
         (window.output[2] < kShortRow || window.strides[2] > 2);
}

KernelPointer MakeDepthwiseBlocks(const KernelSite& site, const FloatConvolution& wanted) {
  return std::make_unique<const DepthwiseBlocks>(site, wanted);
}

}  // namespace plimsoll::kernels::cpu
