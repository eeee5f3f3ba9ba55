#include "kernels/cpu/convolution/product_convolution.h"

#include <algorithm>
#include <vector>

#include "kernels/blocking.h"
#include "kernels/cpu/convolution/image_form.h"
#include "kernels/cpu/convolution/rows/row_finish.h"
#include "kernels/cpu/movement/matrix_transpose.h"
#include "kernels/cpu/product/gemm.h"
#include "kernels/cpu/product/panel_product.h"
#include "kernels/cpu/workspace.h"
#include "kernels/parallel.h"

namespace plimsoll::kernels::cpu {
namespace {

constexpr size_t kProductConvolutionBias = 2;
constexpr size_t kProductConvolutionResidual = 3;
constexpr int64_t kFloat = sizeof(float);
// Output places of a stretch; with fewer the weights are read too often.
constexpr int64_t kStretch = 256;
constexpr Bytes kMostBytes = Bytes(512 << 10);
// Products of a sum that are gathered at once: they stay in the first cache.
constexpr int64_t kPartDepth = 384;
// Gathered products that need no workspace.
constexpr int64_t kStackFloats = 2048;
// The least that a thread gathers at once where each has a stretch of its own.
constexpr int64_t kOwnStretch = 64;
// Multiplications that are worth a thread of their own.
constexpr int64_t kThreadWork = int64_t{1} << 20;

// Neighbouring output places of one row, in one panel.
struct PlaceRun {
  int64_t column = 0;  // in the panel
  int64_t count = 0;
  Window::Sizes place = {};
};

// See MakeProductConvolution.
class ProductConvolution final : public Kernel {
 public:
  ProductConvolution(const KernelSite& site, const FloatConvolution& wanted)
      : shape_(wanted.shape),
        source_{wanted.shape.window.InputSize(), wanted.source_blocked ? BlockSize() : 1},
        destination_{wanted.shape.window.OutputSize(),
                     wanted.destination_blocked ? BlockSize() : 1},
        finish_(wanted.activation) {
    const int64_t taps = shape_.window.KernelSize();
    part_channels_ = std::max<int64_t>(kPartDepth / taps, 1);
    if (source_.block > 1) {
      part_channels_ = std::max(part_channels_ / source_.block * source_.block, source_.block);
    }
    part_channels_ = std::min(part_channels_, shape_.GroupChannels());
    const bool unblocks = destination_.block > 1;
    const int64_t lines = part_channels_ * taps + (unblocks ? shape_.GroupFilters() : 0);
    const Bytes allowed = std::min(site.most_workspace, kMostBytes);
    const int64_t room = allowed.value() / (lines * kFloat) / kPanelWidth;  // in panels
    if (room == 0) ShrinkParts(kStackFloats / (taps * kPanelWidth));
    on_stack_ = room == 0 && part_channels_ * taps * kPanelWidth <= kStackFloats;
    const int64_t threads = ThreadsWorthTheirWork();
    const int64_t lanes = on_stack_ && !unblocks
                              ? threads
                              : std::clamp<int64_t>(room * kPanelWidth / kOwnStretch, 1, threads);
    const int64_t share = (destination_.places + lanes - 1) / lanes;
    columns_ = std::clamp(room / lanes * kPanelWidth, kPanelWidth,
                          std::min(kStretch, PanelColumns(share)));
    const int64_t gathered = part_channels_ * taps * columns_;
    on_stack_ = gathered <= kStackFloats;
    WorkspaceLayout workspace;
    for (int64_t lane = 0; lane < lanes; ++lane) {
      Lane made;
      if (!on_stack_) made.panels = workspace.Take(Bytes(gathered * kFloat));
      if (unblocks) made.tile = workspace.Take(Bytes(shape_.GroupFilters() * columns_ * kFloat));
      lanes_.push_back(made);
    }
    workspace_ = workspace.total();
  }

  Bytes workspace() const override { return workspace_; }
  std::string_view implementation() const override { return "ours:product"; }
  std::string_view workspace_purpose() const override {
    return "what a stretch of outputs looks at";
  }

  Status Run(const KernelCall& call) const override {
    const int64_t stretches = (destination_.places + columns_ - 1) / columns_;
    const int64_t all = shape_.batch * shape_.groups * stretches;
    const auto lanes = static_cast<int64_t>(lanes_.size());
    const auto run = [&](int64_t begin, int64_t end) {
      for (int64_t lane = begin; lane < end; ++lane) {
        for (int64_t i = all * lane / lanes; i < all * (lane + 1) / lanes; ++i) {
          const int64_t first = i % stretches * columns_;
          RunStretch(call, lanes_[static_cast<size_t>(lane)], i / stretches / shape_.groups,
                     i / stretches % shape_.groups, first,
                     std::min(columns_, destination_.places - first));
        }
      }
    };
    // Where there is one lane the threads share out each of its steps.
    if (lanes == 1) {
      run(0, 1);
    } else {
      ParallelFor(lanes, 1, run);
    }
    return {};
  }

 private:
  // Where what one thread works on lies in the workspace.
  struct Lane {
    int64_t panels = 0;
    int64_t tile = 0;
  };

  int64_t ThreadsWorthTheirWork() const {
    const int64_t work = SaturatingMultiply(shape_.batch * shape_.filters * destination_.places,
                                            shape_.GroupChannels() * shape_.window.KernelSize());
    return std::clamp<int64_t>(work / kThreadWork, 1, Threads());
  }

  void ShrinkParts(int64_t channels) {
    const int64_t least = std::min(source_.block, shape_.GroupChannels());
    if (channels < least) return;
    part_channels_ = std::min(part_channels_, channels / source_.block * source_.block);
    part_channels_ = std::max(part_channels_, least);
  }

  static const float* Input(const KernelCall& call, size_t i) {
    return i < call.inputs.size() ? static_cast<const float*>(call.inputs[i]) : nullptr;
  }

  void RunStretch(const KernelCall& call, const Lane& lane, int64_t image, int64_t group,
                  int64_t first, int64_t count) const {
    const int64_t taps = shape_.window.KernelSize();
    const int64_t filters = shape_.GroupFilters();
    const int64_t channels = shape_.GroupChannels();
    const int64_t first_filter = group * filters;
    const float* const source = Input(call, 0) + image * source_.Elements(shape_.channels);
    const int64_t result = image * destination_.Elements(shape_.filters);
    float* const output = static_cast<float*>(call.outputs[0]) + result;
    const bool plain = destination_.block == 1;
    alignas(64) float stack[kStackFloats];
    float* const panels = on_stack_ ? stack : At<float>(call.workspace, lane.panels);
    float* const tile = plain ? output + destination_.At(first_filter) + first
                              : At<float>(call.workspace, lane.tile);
    const int64_t stride = plain ? destination_.places : columns_;
    const float* const bias = Input(call, kProductConvolutionBias);
    const float* residual = Input(call, kProductConvolutionResidual);
    const bool sums_onto_residual = plain && residual != nullptr;
    for (int64_t i = 0; sums_onto_residual && i < filters; ++i) {
      const float* const from = residual + result + destination_.At(first_filter + i) + first;
      if (from != tile + i * stride) std::copy_n(from, count, tile + i * stride);
    }
    if (sums_onto_residual) residual = nullptr;
    for (int64_t channel = 0; channel < channels; channel += part_channels_) {
      const int64_t some = std::min(part_channels_, channels - channel);
      Gather(source, group * channels + channel, some, first, count, panels);
      const int64_t grain = kThreadWork / (some * taps * count) + 1;
      ParallelFor(filters, grain, [&](int64_t begin, int64_t end) {
        RunGemm({.rows = end - begin,
                 .columns = count,
                 .depth = some * taps,
                 .a = Input(call, 1) + ((first_filter + begin) * channels + channel) * taps,
                 .a_row_stride = channels * taps,
                 .b = {panels, kPanelWidth, some * taps * kPanelWidth},
                 .c = tile + begin * stride,
                 .c_stride = stride,
                 .accumulate = channel > 0 || sums_onto_residual});
      });
    }
    for (int64_t i = 0; i < filters; ++i) {
      const int64_t filter = first_filter + i;
      const int64_t place = destination_.At(filter) + first * destination_.block;
      finish_.Apply(bias == nullptr ? 0.0f : bias[filter],
                    residual == nullptr ? nullptr : residual + result + place, destination_.block,
                    count, tile + i * stride);
      if (!plain) Block(tile + i * stride, filter, i, first, count, output);
    }
  }

  // Moves the row of a filter, number `i` of the tile, to its lane of the output; whole blocks at
  // once, when their last row is there. Lanes behind the last filter become zero.
  void Block(const float* row, int64_t filter, int64_t i, int64_t first, int64_t count,
             float* output) const {
    const int64_t block = destination_.block;
    const int64_t lane = filter % block;
    float* const to = output + destination_.At(filter - lane) + first * block;
    const bool in_whole_block = i >= lane && i - lane + block <= shape_.GroupFilters();
    if (in_whole_block) {
      if (lane < block - 1) return;
      TransposeWords(reinterpret_cast<const uint32_t*>(row - lane * columns_), columns_,
                     reinterpret_cast<uint32_t*>(to), block, count, block);
      return;
    }
    for (int64_t place = 0; place < count; ++place) to[place * block + lane] = row[place];
    for (int64_t unused = lane + 1; filter + 1 == shape_.filters && unused < block; ++unused) {
      for (int64_t place = 0; place < count; ++place) to[place * block + unused] = 0;
    }
  }

  // Rows (channel, tap) and columns of output places [first, first + count), in panels.
  void Gather(const float* source, int64_t channel, int64_t channels, int64_t first, int64_t count,
              float* panels) const {
    const Window& window = shape_.window;
    const int64_t depth = channels * window.KernelSize();
    const int64_t grain = kThreadWork / (depth * kPanelWidth * 8) + 1;
    ParallelFor(PanelColumns(count) / kPanelWidth, grain, [&](int64_t begin, int64_t end) {
      for (int64_t panel = begin; panel < end; ++panel) {
        const int64_t from = first + panel * kPanelWidth;
        const int64_t width = std::min(kPanelWidth, first + count - from);
        float* const to = panels + panel * depth * kPanelWidth;
        for (int64_t column = 0; column < width;) {
          const int64_t place = from + column;
          const int64_t x = place % window.output[2];
          const PlaceRun run{.column = column,
                             .count = std::min(width - column, window.output[2] - x),
                             .place = {place / window.output[2] / window.output[1],
                                       place / window.output[2] % window.output[1], x}};
          GatherRun(source, channel, channels, run, to);
          column += run.count;
        }
        for (int64_t d = 0; width < kPanelWidth && d < depth; ++d) {
          std::fill(to + d * kPanelWidth + width, to + (d + 1) * kPanelWidth, 0.0f);
        }
      }
    });
  }

  void GatherRun(const float* source, int64_t channel, int64_t channels, const PlaceRun& run,
                 float* panel) const {
    const Window& window = shape_.window;
    const int64_t taps = window.KernelSize();
    for (int64_t tap = 0; tap < taps; ++tap) {
      const Window::Sizes taken = {tap / (window.kernel[1] * window.kernel[2]),
                                   tap / window.kernel[2] % window.kernel[1],
                                   tap % window.kernel[2]};
      Window::Sizes at;
      for (size_t axis = 0; axis < Window::kAxes; ++axis) {
        at[axis] = run.place[axis] * window.strides[axis] + taken[axis] * window.dilations[axis] -
                   window.begin[axis];
      }
      const int64_t step = window.strides[2];
      int64_t low = at[2] >= 0 ? 0 : std::min((-at[2] + step - 1) / step, run.count);
      int64_t high = at[2] >= window.input[2]
                         ? 0
                         : std::min((window.input[2] - 1 - at[2]) / step + 1, run.count);
      const bool inside = at[0] >= 0 && at[0] < window.input[0] && at[1] >= 0 &&
                          at[1] < window.input[1] && low < high;
      if (!inside) low = high = 0;
      const int64_t place = (at[0] * window.input[1] + at[1]) * window.input[2] + at[2];
      float* const to = panel + tap * kPanelWidth + run.column;
      for (int64_t c = 0; c < channels && (low > 0 || high < run.count); ++c) {
        float* const row = to + c * taps * kPanelWidth;
        std::fill(row, row + low, 0.0f);
        std::fill(row + high, row + run.count, 0.0f);
      }
      if (low < high) {
        source_.CopyRows(source, {place + low * step, step, high - low}, channel, channels,
                         taps * kPanelWidth, to + low);
      }
    }
  }

  ConvolutionShape shape_;
  ImageForm source_;
  ImageForm destination_;
  RowFinish finish_;
  int64_t part_channels_ = 1;
  int64_t columns_ = kPanelWidth;  // output places of a stretch
  bool on_stack_ = false;          // where the panels are
  std::vector<Lane> lanes_;        // one for each thread that works on a stretch of its own
  Bytes workspace_;
};

}  // namespace

KernelPointer MakeProductConvolution(const KernelSite& site, const FloatConvolution& wanted) {
  return std::make_unique<const ProductConvolution>(site, wanted);
}

}  // namespace plimsoll::kernels::cpu
