#include "kernels/cpu/convolution/depthwise_transposed.h"

#include <algorithm>
#include <array>
#include <vector>

#include "kernels/cpu/vector/plane_windows.h"
#include "kernels/cpu/workspace.h"
#include "kernels/parallel.h"

namespace plimsoll::kernels::cpu {
namespace {

// Multiplications that are worth a thread of their own.
constexpr int64_t kTransposedThreadWork = 1 << 17;
constexpr int64_t kMostPhaseTaps = 256;

// The places `first`, `first + stride`, ... of one axis of the output, and the taps that reach
// them: tap `tap`, `tap + stride`, ..., of which the last meets place q of the input at q - before.
struct AxisPhase {
  int64_t first = 0;
  int64_t places = 0;
  int64_t tap = 0;
  int64_t taps = 0;
  int64_t before = 0;

  static AxisPhase Of(const Window& window, size_t axis, int64_t first) {
    const int64_t stride = window.strides[axis];
    AxisPhase phase{.first = first};
    phase.places = std::max<int64_t>(window.output[axis] - first + stride - 1, 0) / stride;
    phase.tap = (first + window.begin[axis]) % stride;
    phase.taps = std::max<int64_t>(window.kernel[axis] - phase.tap + stride - 1, 0) / stride;
    phase.before = phase.taps - 1 - (first + window.begin[axis] - phase.tap) / stride;
    return phase;
  }
};

std::vector<AxisPhase> PhasesOf(const Window& window, size_t axis) {
  std::vector<AxisPhase> phases;
  for (int64_t first = 0; first < std::min(window.strides[axis], window.output[axis]); ++first) {
    phases.push_back(AxisPhase::Of(window, axis, first));
  }
  return phases;
}

// Floats of the largest phase.
int64_t PhaseFloats(const Window& window) {
  const auto places = [&](size_t axis) { return AxisPhase::Of(window, axis, 0).places; };
  return places(1) * places(2);
}

// See depthwise_transposed.h.
class DepthwiseTransposed final : public Kernel {
 public:
  DepthwiseTransposed(const KernelSite& site, const ConvolutionShape& shape)
      : shape_(shape), rows_(PhasesOf(shape.window, 1)), columns_(PhasesOf(shape.window, 2)) {
    const Bytes phase = Bytes(sizeof(float)) * PhaseFloats(shape.window);
    const int64_t maps = shape.batch * shape.filters;
    const int64_t work = maps * shape.window.InputSize() * shape.window.KernelSize();
    const int64_t room = site.most_workspace.value() / std::max<int64_t>(phase.value(), 1);
    parts_ = std::clamp<int64_t>(std::min(work / kTransposedThreadWork, room), 1,
                                 std::min<int64_t>(Threads(), maps));
    WorkspaceLayout workspace;
    for (int64_t part = 0; part < parts_; ++part) phases_.push_back(workspace.Take(phase));
    workspace_ = workspace.total();
  }

  Bytes workspace() const override { return workspace_; }
  std::string_view implementation() const override { return "ours:depthwise"; }
  std::string_view workspace_purpose() const override {
    return "results that lie a stride apart, before they are spread";
  }

  Status Run(const KernelCall& call) const override {
    const int64_t maps = shape_.batch * shape_.filters;
    ParallelFor(parts_, 1, [&](int64_t begin, int64_t end) {
      for (int64_t part = begin; part < end; ++part) {
        float* const phase = At<float>(call.workspace, phases_[static_cast<size_t>(part)]);
        for (int64_t map = maps * part / parts_; map < maps * (part + 1) / parts_; ++map) {
          RunMap(call, map, phase);
        }
      }
    });
    return {};
  }

 private:
  void RunMap(const KernelCall& call, int64_t map, float* phase) const {
    const Window& window = shape_.window;
    const auto input = [&](size_t i) {
      return i < call.inputs.size() ? static_cast<const float*>(call.inputs[i]) : nullptr;
    };
    const int64_t filter = map % shape_.filters;
    const float* const weights = input(1) + filter * window.KernelSize();
    const float* const bias = input(2);
    std::array<float, kMostPhaseTaps> turned;
    PlaneWindow plane{.from = input(0) + map / shape_.GroupFilters() * window.InputSize(),
                      .input_rows = window.input[1],
                      .input_columns = window.input[2],
                      .weights = turned.data(),
                      .bias = bias == nullptr ? 0.0f : bias[filter],
                      .to = phase};
    float* const output = static_cast<float*>(call.outputs[0]) + map * window.OutputSize();
    for (const AxisPhase& rows : rows_) {
      for (const AxisPhase& columns : columns_) {
        float* next = turned.data();
        for (int64_t a = rows.taps; a-- > 0;) {
          const float* const row =
              weights + (rows.tap + a * window.strides[1]) * window.kernel[2] + columns.tap;
          for (int64_t b = columns.taps; b-- > 0;) *next++ = row[b * window.strides[2]];
        }
        plane.tap_rows = columns.taps == 0 ? 0 : rows.taps;
        plane.tap_columns = columns.taps;
        plane.top = rows.before;
        plane.left = columns.before;
        plane.rows = rows.places;
        plane.columns = columns.places;
        SumPlaneWindow(plane);
        Spread(phase, rows, columns, output);
      }
    }
  }

  void Spread(const float* phase, const AxisPhase& rows, const AxisPhase& columns,
              float* output) const {
    const Window& window = shape_.window;
    const int64_t step = window.strides[2];
    for (int64_t y = 0; y < rows.places; ++y) {
      const float* const from = phase + y * columns.places;
      float* const to =
          output + (rows.first + y * window.strides[1]) * window.output[2] + columns.first;
      for (int64_t x = 0; x < columns.places; ++x) to[x * step] = from[x];
    }
  }

  ConvolutionShape shape_;
  std::vector<AxisPhase> rows_;
  std::vector<AxisPhase> columns_;
  int64_t parts_ = 1;            // stretches of maps, one for each thread
  std::vector<int64_t> phases_;  // places in the workspace, by part
  Bytes workspace_;
};

}  // namespace

bool SuitsDepthwiseTransposed(const KernelSite& site, const ConvolutionShape& shape) {
  const Window& window = shape.window;
  const bool planes = window.kernel[0] == 1 && window.input[0] == 1 && window.output[0] == 1 &&
                      window.begin[0] == 0;
  if (!planes || shape.groups == 1 || shape.GroupChannels() != 1) return false;
  for (const size_t axis : {size_t{1}, size_t{2}}) {
    if (window.kernel[axis] > 1 && window.dilations[axis] != 1) return false;
    if (window.begin[axis] < 0 || window.output[axis] == 0) return false;
    // The sums read from the first place on, or before it.
    for (const AxisPhase& phase : PhasesOf(window, axis)) {
      if (phase.taps > 0 && phase.before < 0) return false;
    }
  }
  return window.KernelSize() <= kMostPhaseTaps &&
         Bytes(sizeof(float)) * PhaseFloats(window) <= site.most_workspace;
}

KernelPointer MakeDepthwiseTransposed(const KernelSite& site, const ConvolutionShape& shape) {
  return std::make_unique<const DepthwiseTransposed>(site, shape);
}

}  // namespace plimsoll::kernels::cpu
