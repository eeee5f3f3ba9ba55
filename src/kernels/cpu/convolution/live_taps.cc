#include <algorithm>
#include <vector>

#include "kernels/blocking.h"
#include "kernels/cpu/convolution/convolution_primitive.h"
#include "kernels/cpu/convolution/image_form.h"
#include "kernels/cpu/convolution/product_convolution.h"
#include "kernels/cpu/convolution/rows/row_finish.h"
#include "kernels/cpu/convolution/tap_bands.h"
#include "kernels/cpu/product/gemm.h"
#include "kernels/cpu/product/panel_product.h"
#include "kernels/cpu/workspace.h"
#include "kernels/parallel.h"
#include "plimsoll/base/text.h"

namespace plimsoll::kernels::cpu {
namespace {

// Output places that are worked on at once.
constexpr int64_t kLiveStretch = 256;
constexpr Bytes kMostLiveBytes = Bytes(512 << 10);
// Channels whose products are summed at once: their panels stay in the first cache.
constexpr int64_t kLiveDepth = 384;
// Multiplications that are worth a thread of their own.
constexpr int64_t kLiveThreadWork = int64_t{1} << 19;
// A product takes this share of all taps in the time that oneDNN takes for all.
constexpr double kWorthwhileShare = 0.6;

// See MakeLiveTapConvolution.
class LiveTapConvolution final : public Kernel {
 public:
  static Result<KernelPointer> Make(const KernelSite& site, const FloatConvolution& wanted) {
    std::unique_ptr<LiveTapConvolution> kernel(new LiveTapConvolution(site, wanted));
    PLIMSOLL_TRY(kernel->PackWeights(site));
    return KernelPointer(std::move(kernel));
  }

  Bytes workspace() const override { return workspace_; }
  std::string_view implementation() const override { return "ours:live taps"; }
  std::string_view workspace_purpose() const override {
    return "what a stretch of outputs looks at";
  }

  Status Run(const KernelCall& call) const override {
    const auto run = [&](int64_t begin, int64_t end) {
      for (auto lane = static_cast<size_t>(begin); lane < static_cast<size_t>(end); ++lane) {
        for (int64_t i = lanes_[lane].first; i < lanes_[lane].end; ++i)
          RunStretch(call, lanes_[lane], i);
      }
    };
    // Where there is one lane the threads share out each of its steps.
    if (lanes_.size() == 1) {
      run(0, 1);
    } else {
      ParallelFor(static_cast<int64_t>(lanes_.size()), 1, run);
    }
    return {};
  }

 private:
  LiveTapConvolution(const KernelSite& site, const FloatConvolution& wanted)
      : shape_(wanted.shape),
        source_{wanted.shape.window.InputSize(), wanted.source_blocked ? BlockSize() : 1},
        destination_{wanted.shape.window.OutputSize(),
                     wanted.destination_blocked ? BlockSize() : 1},
        finish_(wanted.activation),
        rows_(TapBandsOf(wanted.shape.window, 1)),
        columns_(TapBandsOf(wanted.shape.window, 2)) {
    part_channels_ = std::min(shape_.GroupChannels(), kLiveDepth);
    const int64_t lines = part_channels_ + shape_.GroupFilters();
    const Bytes allowed = std::min(site.most_workspace, kMostLiveBytes);
    const int64_t room = allowed.value() / (lines * int64_t{sizeof(float)}) / kPanelWidth;
    const int64_t lanes = std::max<int64_t>(std::min(room, ThreadsWorthTheirWork()), 1);
    const int64_t share = (shape_.window.OutputSize() + lanes - 1) / lanes;
    stretch_ = std::clamp(room / lanes * kPanelWidth, kPanelWidth,
                          std::min(kLiveStretch, PanelColumns(share)));
    for (const TapBand& rows : rows_) {
      for (const TapBand& columns : columns_) CutRectangle(rows, columns);
    }
    WorkspaceLayout workspace;
    for (int64_t lane = 0; lane < lanes; ++lane) {
      lanes_.push_back(
          {.panels = workspace.Take(Bytes(sizeof(float)) * (part_channels_ * stretch_)),
           .tile = workspace.Take(Bytes(sizeof(float)) * (shape_.GroupFilters() * stretch_))});
    }
    ShareOut();
    workspace_ = workspace.total();
  }

  // What a thread works on and with.
  struct Lane {
    int64_t panels = 0;  // places in the workspace
    int64_t tile = 0;
    int64_t first = 0;  // of the stretches of all images and groups, one behind the other
    int64_t end = 0;
  };

  // Places of a rectangle, row by row.
  struct Stretch {
    const TapBand& rows;
    const TapBand& columns;
    int64_t first;
    int64_t count;
    int64_t image = 0;
    int64_t group = 0;

    int64_t Work() const { return count * std::max<int64_t>(rows.taps() * columns.taps(), 1); }
  };

  void CutRectangle(const TapBand& rows, const TapBand& columns) {
    const int64_t places = rows.length() * columns.length();
    for (int64_t first = 0; first < places; first += stretch_) {
      stretches_.push_back({rows, columns, first, std::min(stretch_, places - first)});
    }
  }

  int64_t ThreadsWorthTheirWork() const {
    int64_t taps = 0;
    for (const TapBand& rows : rows_) {
      for (const TapBand& columns : columns_) {
        taps += rows.length() * columns.length() * rows.taps() * columns.taps();
      }
    }
    const int64_t work =
        SaturatingMultiply(shape_.batch * shape_.filters * taps, shape_.GroupChannels());
    return std::clamp<int64_t>(work / kLiveThreadWork, 1, Threads());
  }

  // Neighbouring stretches, and about as much work, for each lane.
  void ShareOut() {
    int64_t of_image = 0;
    for (const Stretch& stretch : stretches_) of_image += stretch.Work();
    const auto each = static_cast<int64_t>(stretches_.size());
    const int64_t repeats = shape_.batch * shape_.groups;
    const auto lanes = static_cast<int64_t>(lanes_.size());
    int64_t next = 0;
    int64_t done = 0;
    for (int64_t lane = 0; lane < lanes; ++lane) {
      Lane& own = lanes_[static_cast<size_t>(lane)];
      own.first = next;
      const int64_t wanted = of_image * repeats * (lane + 1) / lanes;
      while (next < each * repeats) {
        const int64_t work = stretches_[static_cast<size_t>(next % each)].Work();
        if (lane + 1 < lanes && done + work / 2 > wanted) break;
        done += work;
        ++next;
      }
      own.end = next;
    }
  }

  // [tap][filter][channel].
  Status PackWeights(const KernelSite& site) {
    const TensorInfo& tensor = site.inputs[kConvolutionWeights];
    if (!tensor.constant || site.packed_weights == nullptr ||
        !site.packed_weights->Wants(tensor.data, tensor.size(), tensor.size(), Bytes())) {
      return {};
    }
    const int64_t taps = shape_.window.KernelSize();
    const int64_t rows = shape_.filters * shape_.GroupChannels();
    const auto fill = [&](void* to) {
      TransposeMatrix(static_cast<const float*>(tensor.data), taps, static_cast<float*>(to), rows,
                      taps, rows);
      return Status();
    };
    PLIMSOLL_ASSIGN(
        const void* const packed,
        site.packed_weights->Pack(tensor.data, tensor.size(),
                                  StrCat("tap by tap ", taps, "x", rows), tensor.size(), fill));
    packed_ = static_cast<const float*>(packed);
    return {};
  }

  static const float* Input(const KernelCall& call, size_t i) {
    return i < call.inputs.size() ? static_cast<const float*>(call.inputs[i]) : nullptr;
  }

  void RunStretch(const KernelCall& call, const Lane& lane, int64_t number) const {
    const auto each = static_cast<int64_t>(stretches_.size());
    Stretch stretch = stretches_[static_cast<size_t>(number % each)];
    stretch.image = number / each / shape_.groups;
    stretch.group = number / each % shape_.groups;
    float* const panels = At<float>(call.workspace, lane.panels);
    float* const tile = At<float>(call.workspace, lane.tile);
    const int64_t filters = shape_.GroupFilters();
    const int64_t channels = shape_.GroupChannels();
    bool accumulate = false;
    for (int64_t a = stretch.rows.first_tap; a < stretch.rows.end_tap; ++a) {
      for (int64_t b = stretch.columns.first_tap; b < stretch.columns.end_tap; ++b) {
        for (int64_t channel = 0; channel < channels; channel += part_channels_) {
          const int64_t some = std::min(part_channels_, channels - channel);
          Gather(call, stretch, a, b, channel, some, panels);
          const int64_t grain = kLiveThreadWork / (some * stretch.count) + 1;
          ParallelFor(filters, grain, [&](int64_t begin, int64_t end) {
            Gemm gemm{.rows = end - begin,
                      .columns = stretch.count,
                      .depth = some,
                      .b = {panels, kPanelWidth, some * kPanelWidth},
                      .c = tile + begin * stretch_,
                      .c_stride = stretch_,
                      .accumulate = accumulate};
            PlaceWeights(call, stretch.group * filters + begin, a * shape_.window.kernel[2] + b,
                         channel, gemm);
            RunGemm(gemm);
          });
          accumulate = true;
        }
      }
    }
    if (!accumulate) std::fill_n(tile, filters * stretch_, 0.0f);
    for (int64_t i = 0; i < filters; ++i) Finish(call, stretch, i, tile + i * stretch_);
  }

  void PlaceWeights(const KernelCall& call, int64_t filter, int64_t tap, int64_t channel,
                    Gemm& gemm) const {
    const int64_t channels = shape_.GroupChannels();
    if (packed_ != nullptr) {
      gemm.a = packed_ + (tap * shape_.filters + filter) * channels + channel;
      gemm.a_row_stride = channels;
      return;
    }
    const int64_t taps = shape_.window.KernelSize();
    gemm.a = Input(call, kConvolutionWeights) + (filter * channels + channel) * taps + tap;
    gemm.a_row_stride = channels * taps;
    gemm.a_depth_stride = taps;
  }

  // Calls body(column, y, x, count) for the runs of a stretch's places that lie in one row, at most
  // `width` from `begin` on.
  template <typename Body>
  static void ForEachRun(const Stretch& stretch, int64_t begin, int64_t width, const Body& body) {
    const int64_t wide = stretch.columns.length();
    for (int64_t column = 0; column < width;) {
      const int64_t place = stretch.first + begin + column;
      const int64_t x = place % wide;
      const int64_t count = std::min(width - column, wide - x);
      body(begin + column, stretch.rows.first + place / wide, stretch.columns.first + x, count);
      column += count;
    }
  }

  // What the stretch meets under one tap, in panels.
  void Gather(const KernelCall& call, const Stretch& stretch, int64_t a, int64_t b, int64_t channel,
              int64_t channels, float* panels) const {
    const Window& window = shape_.window;
    const float* const source =
        Input(call, kConvolutionData) + stretch.image * source_.Elements(shape_.channels);
    const int64_t first = stretch.group * shape_.GroupChannels() + channel;
    const int64_t grain = kLiveThreadWork / (channels * kPanelWidth * 8) + 1;
    ParallelFor(PanelColumns(stretch.count) / kPanelWidth, grain, [&](int64_t begin, int64_t end) {
      for (int64_t panel = begin; panel < end; ++panel) {
        float* const to = panels + panel * channels * kPanelWidth;
        const int64_t width = std::min(kPanelWidth, stretch.count - panel * kPanelWidth);
        ForEachRun(
            stretch, panel * kPanelWidth, width,
            [&](int64_t column, int64_t y, int64_t x, int64_t count) {
              const int64_t row = y * window.strides[1] + a * window.dilations[1] - window.begin[1];
              const int64_t at = x * window.strides[2] + b * window.dilations[2] - window.begin[2];
              source_.CopyRows(source, {row * window.input[2] + at, window.strides[2], count},
                               first, channels, kPanelWidth, to + column % kPanelWidth);
            });
        for (int64_t c = 0; width < kPanelWidth && c < channels; ++c) {
          std::fill(to + c * kPanelWidth + width, to + (c + 1) * kPanelWidth, 0.0f);
        }
      }
    });
  }

  // Bias, residual and activation of one filter's sums, and their way to the output.
  void Finish(const KernelCall& call, const Stretch& stretch, int64_t i, float* sums) const {
    const int64_t filter = stretch.group * shape_.GroupFilters() + i;
    const float* const bias = Input(call, kConvolutionBias);
    const float* const residual = Input(call, kConvolutionResidual);
    const int64_t map =
        stretch.image * destination_.Elements(shape_.filters) + destination_.At(filter);
    const int64_t block = destination_.block;
    float* const output = static_cast<float*>(call.outputs[0]) + map;
    const bool last = filter + 1 == shape_.filters;
    ForEachRun(stretch, 0, stretch.count, [&](int64_t column, int64_t y, int64_t x, int64_t count) {
      const int64_t place = (y * shape_.window.output[2] + x) * block;
      float* const row = sums + column;
      finish_.Apply(bias == nullptr ? 0.0f : bias[filter],
                    residual == nullptr ? nullptr : residual + map + place, block, count, row);
      if (block == 1) {
        std::copy_n(row, count, output + place);
        return;
      }
      for (int64_t p = 0; p < count; ++p) output[place + p * block] = row[p];
      for (int64_t lane = filter % block + 1; last && lane < block; ++lane) {
        for (int64_t p = 0; p < count; ++p) {
          output[place + p * block + lane - filter % block] = 0;
        }
      }
    });
  }

  ConvolutionShape shape_;
  ImageForm source_;
  ImageForm destination_;
  RowFinish finish_;
  std::vector<TapBand> rows_;
  std::vector<TapBand> columns_;
  const float* packed_ = nullptr;
  int64_t part_channels_ = 1;
  int64_t stretch_ = kPanelWidth;   // places of a stretch, at most
  std::vector<Stretch> stretches_;  // of one image and group
  std::vector<Lane> lanes_;
  Bytes workspace_;
};

}  // namespace

bool MostlyMeetsPadding(const ConvolutionShape& shape) {
  const Window& window = shape.window;
  const bool planes = window.kernel[0] == 1 && window.input[0] == 1 && window.output[0] == 1 &&
                      window.begin[0] == 0;
  if (!planes) return false;
  const std::vector<TapBand> all_columns = TapBandsOf(window, 2);
  double work = 0;
  for (const TapBand& rows : TapBandsOf(window, 1)) {
    for (const TapBand& columns : all_columns) {
      work += static_cast<double>(PanelColumns(rows.length() * columns.length())) *
              static_cast<double>(rows.taps() * columns.taps());
    }
  }
  const auto all = static_cast<double>(window.OutputSize() * window.KernelSize());
  return work < kWorthwhileShare * all;
}

Result<KernelPointer> MakeLiveTapConvolution(const KernelSite& site,
                                             const FloatConvolution& wanted) {
  return LiveTapConvolution::Make(site, wanted);
}

}  // namespace plimsoll::kernels::cpu
