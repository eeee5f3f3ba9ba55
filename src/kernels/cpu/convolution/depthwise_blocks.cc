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

// See depthwise_blocks.h.
class DepthwiseBlocks final : public Kernel {
 public:
  DepthwiseBlocks(const KernelSite& site, const FloatConvolution& wanted)
      : shape_(wanted.shape), block_(BlockSize()), finish_(wanted.activation) {
    const Window& window = shape_.window;
    const int64_t work = shape_.batch * shape_.channels * window.OutputSize() * window.KernelSize();
    const Bytes taps = TapBytes(window);
    parts_ = std::clamp<int64_t>(
        std::min(work / kBlockThreadWork, site.most_workspace.value() / taps.value()), 1,
        std::min<int64_t>(Threads(), Units()));
    WorkspaceLayout workspace;
    for (int64_t part = 0; part < parts_; ++part) taps_.push_back(workspace.Take(taps));
    workspace_ = workspace.total();
  }

  static Bytes TapBytes(const Window& window) {
    return Bytes(window.KernelSize() * BlockSize()) * int64_t{sizeof(float)};
  }

  Bytes workspace() const override { return workspace_; }
  std::string_view implementation() const override { return "ours:depthwise"; }
  std::string_view workspace_purpose() const override { return "the taps of a block of channels"; }

  Status Run(const KernelCall& call) const override {
    ParallelFor(parts_, 1, [&](int64_t begin, int64_t end) {
      for (int64_t part = begin; part < end; ++part) {
        float* const taps = At<float>(call.workspace, taps_[static_cast<size_t>(part)]);
        int64_t held = -1;  // the block whose taps these are
        for (int64_t u = Units() * part / parts_; u < Units() * (part + 1) / parts_; ++u) {
          RunPlane(call, u, held, taps);
        }
      }
    });
    return {};
  }

 private:
  int64_t Blocks() const { return (shape_.channels + block_ - 1) / block_; }
  // Planes of blocks of images.
  int64_t Units() const { return shape_.batch * Blocks() * shape_.window.output[0]; }

  static const float* Input(const KernelCall& call, size_t i) {
    return i < call.inputs.size() ? static_cast<const float*>(call.inputs[i]) : nullptr;
  }

  void RunPlane(const KernelCall& call, int64_t unit, int64_t& held, float* taps) const {
    const Window& window = shape_.window;
    const int64_t plane = unit % window.output[0];
    const int64_t image_block = unit / window.output[0];
    const int64_t first = image_block % Blocks() * block_;
    const int64_t lanes = std::min(block_, shape_.channels - first);
    const int64_t kernel = window.KernelSize();
    if (held != first) {
      std::fill_n(taps, kernel * block_, 0.0f);
      const float* const weights = Input(call, kConvolutionWeights) + first * kernel;
      TransposeWords(reinterpret_cast<const uint32_t*>(weights), kernel,
                     reinterpret_cast<uint32_t*>(taps), block_, kernel, lanes);
      held = first;
    }
    std::array<float, kMostBlock> bias{};
    if (const float* const given = Input(call, kConvolutionBias)) {
      std::copy_n(given + first, lanes, bias.data());
    }
    const int64_t row_floats = window.input[2] * block_;
    const float* const source =
        Input(call, kConvolutionData) + image_block * window.InputSize() * block_;
    const int64_t front = plane * window.strides[0] - window.begin[0];
    const MetTaps planes = MetTaps::Of(window, 0, front);
    for (int64_t y = 0; y < window.output[1]; ++y) {
      const int64_t top = y * window.strides[1] - window.begin[1];
      const MetTaps rows = MetTaps::Of(window, 1, top);
      const int64_t z0 = front + planes.first * window.dilations[0];
      const int64_t y0 = top + rows.first * window.dilations[1];
      const int64_t place = ((image_block * window.output[0] + plane) * window.output[1] + y) *
                            window.output[2] * block_;
      const float* const residual = Input(call, kConvolutionResidual);
      float* const to = static_cast<float*>(call.outputs[0]) + place;
      SumBlockWindow({.block = block_,
                      .from = source + (z0 * window.input[1] + y0) * row_floats,
                      .tap_planes = rows.count == 0 ? 0 : planes.count,
                      .plane_step = window.dilations[0] * window.input[1] * row_floats,
                      .tap_rows = rows.count,
                      .row_step = window.dilations[1] * row_floats,
                      .tap_columns = window.kernel[2],
                      .weights = taps + (planes.first * window.kernel[1] + rows.first) *
                                            window.kernel[2] * block_,
                      .weight_plane = window.kernel[1] * window.kernel[2] * block_,
                      .weight_row = window.kernel[2] * block_,
                      .input_columns = window.input[2],
                      .column_stride = window.strides[2],
                      .column_dilation = window.dilations[2],
                      .left = window.begin[2],
                      .bias = bias.data(),
                      .residual = residual == nullptr ? nullptr : residual + place,
                      .columns = window.output[2],
                      .to = to});
      finish_.Apply(0, nullptr, 1, window.output[2] * block_, to);
      for (int64_t x = 0; lanes < block_ && x < window.output[2]; ++x) {
        std::fill(to + x * block_ + lanes, to + (x + 1) * block_, 0.0f);
      }
    }
  }

  ConvolutionShape shape_;
  int64_t block_;
  RowFinish finish_;
  int64_t parts_ = 1;          // stretches of units, one for each thread
  std::vector<int64_t> taps_;  // places in the workspace, by part
  Bytes workspace_;
};

}  // namespace

bool SuitsDepthwiseBlocks(const KernelSite& site, const FloatConvolution& wanted) {
  const ConvolutionShape& shape = wanted.shape;
  return wanted.source_blocked && wanted.destination_blocked && shape.groups == shape.channels &&
         shape.groups == shape.filters &&
         DepthwiseBlocks::TapBytes(shape.window) <= site.most_workspace;
}

KernelPointer MakeDepthwiseBlocks(const KernelSite& site, const FloatConvolution& wanted) {
  return std::make_unique<const DepthwiseBlocks>(site, wanted);
}

}  // namespace plimsoll::kernels::cpu
