#include "kernels/cpu/convolution/depthwise_planes.h"

#include "kernels/cpu/convolution/convolution_primitive.h"
#include "kernels/cpu/convolution/rows/row_finish.h"
#include "kernels/cpu/vector/plane_windows.h"
#include "kernels/parallel.h"

namespace plimsoll::kernels::cpu {
namespace {

// Multiplications that are worth a thread of their own.
constexpr int64_t kPlaneThreadWork = 1 << 17;

// See depthwise_planes.h.
class DepthwisePlanes final : public Kernel {
 public:
  explicit DepthwisePlanes(const FloatConvolution& wanted)
      : shape_(wanted.shape), finish_(wanted.activation) {
    const Window& window = shape_.window;
    grain_ = kPlaneThreadWork * window.output[0] / (window.KernelSize() * window.OutputSize()) + 1;
    plane_ = {.input_rows = window.input[1],
              .input_columns = window.input[2],
              .tap_rows = window.kernel[1],
              .tap_columns = window.kernel[2],
              .row_stride = window.strides[1],
              .column_stride = window.strides[2],
              .row_dilation = window.dilations[1],
              .column_dilation = window.dilations[2],
              .top = window.begin[1],
              .left = window.begin[2],
              .rows = window.output[1],
              .columns = window.output[2]};
  }

  std::string_view implementation() const override { return "ours:depthwise"; }

  Status Run(const KernelCall& call) const override {
    const int64_t maps = shape_.batch * shape_.filters * shape_.window.output[0];
    ParallelFor(maps, grain_, [&](int64_t begin, int64_t end) {
      for (int64_t map = begin; map < end; ++map) RunMap(call, map);
    });
    return {};
  }

 private:
  void RunMap(const KernelCall& call, int64_t map) const {
    const auto input = [&](size_t i) {
      return i < call.inputs.size() ? static_cast<const float*>(call.inputs[i]) : nullptr;
    };
    const Window& window = shape_.window;
    const int64_t places = plane_.rows * plane_.columns;
    const int64_t filter = map / window.output[0] % shape_.filters;
    const int64_t image_filter = map / window.output[0];
    const int64_t front = map % window.output[0] * window.strides[0] - window.begin[0];
    const float* const bias = input(kConvolutionBias);
    const float* const residual = input(kConvolutionResidual);
    const float* const from =
        input(kConvolutionData) + image_filter / shape_.GroupFilters() * window.InputSize();
    PlaneWindow plane = plane_;
    plane.weights = input(kConvolutionWeights) + filter * window.KernelSize();
    if (bias != nullptr) plane.bias = bias[filter];
    if (residual != nullptr) plane.residual = residual + map * places;
    plane.to = static_cast<float*>(call.outputs[0]) + map * places;
    // Planes of taps one after the other, onto the sums of those before; where none meets the data,
    // one of no rows.
    bool any = false;
    for (int64_t a = 0; a < window.kernel[0];
         ++a, plane.weights += plane.tap_rows * plane.tap_columns) {
      const int64_t z = front + a * window.dilations[0];
      if (z < 0 || z >= window.input[0]) continue;
      plane.from = from + z * plane.input_rows * plane.input_columns;
      SumPlaneWindow(plane);
      plane.residual = plane.to;
      plane.bias = 0;
      any = true;
    }
    if (!any) {
      plane.tap_rows = 0;
      SumPlaneWindow(plane);
    }
    finish_.Apply(0, nullptr, 1, places, plane.to);
  }

  ConvolutionShape shape_;
  RowFinish finish_;
  PlaneWindow plane_;
  int64_t grain_ = 1;
};

}  // namespace

bool SuitsDepthwisePlanes(const FloatConvolution& wanted) {
  // With fewer rows, sums of one row follow each other too closely.
  constexpr int64_t kFewestRows = 3;
  const Window& window = wanted.shape.window;
  return !wanted.source_blocked && !wanted.destination_blocked &&
         wanted.shape.GroupChannels() == 1 && window.strides[2] <= 2 &&
         window.output[1] >= kFewestRows;
}

KernelPointer MakeDepthwisePlanes(const FloatConvolution& wanted) {
  return std::make_unique<const DepthwisePlanes>(wanted);
}

}  // namespace plimsoll::kernels::cpu
