#include "kernels/cpu/convolution/direct/direct_convolution.h"

#include <algorithm>
#include <array>
#include <vector>

#include "kernels/blocking.h"
#include "kernels/cpu/convolution/convolution_primitive.h"
#include "kernels/cpu/convolution/direct/direct_tile.h"
#include "kernels/cpu/convolution/image_form.h"
#include "kernels/cpu/convolution/product_convolution.h"
#include "kernels/cpu/convolution/rows/row_finish.h"
#include "kernels/cpu/convolution/tap_bands.h"
#include "kernels/parallel.h"
#include "plimsoll/base/text.h"

namespace plimsoll::kernels::cpu {
namespace {

// Multiplications that are worth a thread of their own.
constexpr int64_t kDirectThreadWork = int64_t{1} << 18;
// Results whose activation follows while they are in the second cache.
constexpr int64_t kDirectPieceFloats = int64_t{1} << 15;
constexpr int64_t kDirectPiecesOfThread = 3;
constexpr int64_t kDirectColumns = 48;
constexpr int64_t kMostDirectPlaces = 16;
constexpr int64_t kMostDirectTaps = 1024;
// With more, places by the border, each of which meets taps of its own, are too many.
constexpr int64_t kMostSuitableTaps = 49;
constexpr int64_t kFewPlainChannels = 16;
// Over planes with a stride; with more, rows that are brought once are faster.
constexpr int64_t kMostSkippingTaps = 25;
// Of all taps, those that must meet padding.
constexpr double kDirectPaddingShare = 0.15;
// Output places that one set of taps has, on average, to fill tiles.
constexpr int64_t kPlacesOfRectangle = 8;
// With so many in blocks, tiles of fewer places and more filters are as fast.
constexpr int64_t kManyFilters = 128;
constexpr int64_t kManyChannels = 48;
// oneDNN's loops over several filters reach so far into the padding, with AVX2 and with AVX-512.
constexpr int64_t kOnednnPadding = 3;
constexpr int64_t kOnednnWidePadding = 6;

int64_t DivideUp(int64_t count, int64_t by) { return (count + by - 1) / by; }

// See MakeDirectConvolution.
class DirectConvolution final : public Kernel {
 public:
  static Result<KernelPointer> Make(const KernelSite& site, const FloatConvolution& wanted) {
    std::unique_ptr<DirectConvolution> kernel(new DirectConvolution(site, wanted));
    PLIMSOLL_TRY(kernel->PackWeights(site));
    return KernelPointer(std::move(kernel));
  }

  std::string_view implementation() const override { return "ours:direct"; }

  Status Run(const KernelCall& call) const override {
    const int64_t lines = shape_.window.output[CutAxis()];
    const int64_t panels = DivideUp(shape_.filters, kDirectFilters);
    const int64_t at_once = PanelsOfPiece(panels);
    const int64_t bands = DivideUp(panels, at_once);
    const int64_t piece = LinesOfPiece(bands, at_once);
    const int64_t pieces = DivideUp(lines, piece);
    const int64_t work = piece * LinePlaces() * at_once * kDirectFilters * Depth();
    const int64_t grain = std::max<int64_t>(kDirectThreadWork / work, 1);
    ParallelFor(shape_.batch * pieces * bands, grain, [&](int64_t begin, int64_t end) {
      for (int64_t part = begin; part < end; ++part) {
        const int64_t panel = part % bands * at_once;
        const int64_t first = part / bands % pieces * piece;
        RunPiece(call, part / bands / pieces, panel, std::min(at_once, panels - panel), first,
                 std::min(first + piece, lines));
      }
    });
    return {};
  }

 private:
  // Lines are rows of the output, or the columns of a single row.
  size_t CutAxis() const { return shape_.window.output[1] == 1 ? 2 : 1; }
  int64_t LinePlaces() const { return CutAxis() == 2 ? 1 : shape_.window.output[2]; }

  // As many as can be worked on at once, unless lines are too few for all threads.
  int64_t PanelsOfPiece(int64_t panels) const {
    const int64_t lines = shape_.batch * shape_.window.output[CutAxis()] / LeastLines();
    int64_t at_once = std::min(kMostDirectPanels, panels);
    while (at_once > 1 && Threads() > 1 && DivideUp(panels, at_once) * lines < Threads()) {
      at_once /= 2;
    }
    return at_once;
  }
  int64_t LeastLines() const { return CutAxis() == 2 ? kDirectColumns : 1; }

  // Few enough that every thread has some pieces, since padding makes them unequal, and all about
  // as many. Of a single row: whole tiles.
  int64_t LinesOfPiece(int64_t bands, int64_t panels) const {
    const int64_t lines = shape_.window.output[CutAxis()];
    const int64_t fit = kDirectPieceFloats / (LinePlaces() * panels * kDirectFilters);
    const int64_t share = shape_.batch * bands * lines / (kDirectPiecesOfThread * Threads());
    const int64_t wanted = Threads() > 1 ? std::min(fit, share) : fit;
    const int64_t most =
        std::clamp<int64_t>(DivideUp(wanted, LeastLines()) * LeastLines(), 1, lines);
    return CutAxis() == 2 ? most : DivideUp(lines, DivideUp(lines, most));
  }

  DirectConvolution(const KernelSite& site, const FloatConvolution& wanted)
      : shape_(wanted.shape),
        block_(wanted.source_blocked ? BlockSize() : 1),
        source_{wanted.shape.window.InputSize(), block_},
        to_block_(wanted.destination_blocked ? BlockSize() : 1),
        destination_{wanted.shape.window.OutputSize(), to_block_},
        finish_(wanted.activation),
        has_bias_(site.has_input(kConvolutionBias)),
        has_residual_(site.has_input(kConvolutionResidual)),
        rows_(TapBandsOf(wanted.shape.window, 1)),
        columns_(TapBandsOf(wanted.shape.window, 2)) {}

  int64_t ChannelBlocks() const { return DivideUp(shape_.channels, block_); }
  int64_t TapWeights() const { return ChannelBlocks() * block_ * kDirectFilters; }
  int64_t Depth() const { return ChannelBlocks() * block_ * shape_.window.KernelSize(); }

  // [16 filters][tap][channel][filter], with zeros behind the last channel and filter.
  Status PackWeights(const KernelSite& site) {
    const TensorInfo& tensor = site.inputs[kConvolutionWeights];
    const int64_t taps = shape_.window.KernelSize();
    const int64_t panels = DivideUp(shape_.filters, kDirectFilters);
    const Bytes size = Bytes(sizeof(float)) * (panels * taps * TapWeights());
    if (!tensor.constant || site.packed_weights == nullptr ||
        !site.packed_weights->Wants(tensor.data, tensor.size(), size, Bytes())) {
      return site.Unsupported("the weights are not packed");
    }
    const auto fill = [&](void* to) {
      auto* const all = static_cast<float*>(to);
      std::fill_n(all, panels * taps * TapWeights(), 0.0f);
      const auto* from = static_cast<const float*>(tensor.data);
      for (int64_t filter = 0; filter < shape_.filters; ++filter) {
        float* const panel = all + filter / kDirectFilters * taps * TapWeights();
        for (int64_t channel = 0; channel < shape_.channels; ++channel) {
          float* const place = panel + channel * kDirectFilters + filter % kDirectFilters;
          for (int64_t tap = 0; tap < taps; ++tap) place[tap * TapWeights()] = *from++;
        }
      }
      return Status();
    };
    PLIMSOLL_ASSIGN(const void* const packed,
                    site.packed_weights->Pack(
                        tensor.data, tensor.size(),
                        StrCat("direct ", shape_.filters, "x", ChannelBlocks() * block_, "x", taps),
                        size, fill));
    packed_ = static_cast<const float*>(packed);
    return {};
  }

  static const float* Input(const KernelCall& call, size_t i) {
    return i < call.inputs.size() ? static_cast<const float*>(call.inputs[i]) : nullptr;
  }

  // Output lines [first, end) of the filters of some panels.
  void RunPiece(const KernelCall& call, int64_t image, int64_t panel, int64_t panels, int64_t first,
                int64_t end) const {
    const Window& window = shape_.window;
    const int64_t filter = panel * kDirectFilters;
    const int64_t filters = std::min(panels * kDirectFilters, shape_.filters - filter);
    const int64_t result = image * destination_.Elements(shape_.filters) + destination_.At(filter);
    std::array<float, kMostDirectPanels* kDirectFilters> bias = {};
    if (has_bias_) std::copy_n(Input(call, kConvolutionBias) + filter, filters, bias.begin());
    const int64_t panel_stride = window.KernelSize() * TapWeights();
    DirectTile tile{
        .source = Input(call, kConvolutionData) + image * source_.Elements(shape_.channels),
        .block = block_,
        .channel_blocks = ChannelBlocks(),
        .source_stride = window.InputSize() * block_,
        .weights = packed_ + panel * panel_stride,
        .panels = panels,
        .panel_stride = panel_stride,
        .bias = has_bias_ ? bias.data() : nullptr,
        .residual = has_residual_ ? Input(call, kConvolutionResidual) + result : nullptr,
        .to = static_cast<float*>(call.outputs[0]) + result,
        .to_block = to_block_,
        .to_stride = window.OutputSize() * to_block_,
        .filters = DivideUp(filters, to_block_) * to_block_};
    const auto cut = [&](TapBand band, size_t axis) {
      if (axis != CutAxis()) return band;
      band.first = std::max(band.first, first);
      band.end = std::min(band.end, end);
      return band;
    };
    for (const TapBand& rows : rows_) {
      for (const TapBand& columns : columns_) {
        const TapBand some_rows = cut(rows, 1);
        const TapBand some_columns = cut(columns, 2);
        const bool any = some_rows.first < some_rows.end && some_columns.first < some_columns.end;
        if (any) RunRectangle(some_rows, some_columns, tile);
      }
    }
    for (int64_t done = 0; done < filters; done += to_block_) {
      Finish(tile.to + done / to_block_ * tile.to_stride, first, end,
             std::min(to_block_, filters - done));
    }
  }

  // Places that all meet the input under the same taps.
  void RunRectangle(const TapBand& rows, const TapBand& columns, DirectTile& tile) const {
    const Window& window = shape_.window;
    std::array<DirectTap, kMostDirectTaps> taps;
    std::array<int64_t, kMostDirectPlaces> places;
    std::array<int64_t, kMostDirectPlaces> results;
    tile.places = places.data();
    tile.results = results.data();
    tile.taps = taps.data();
    tile.tap_count = 0;
    for (int64_t a = rows.first_tap; a < rows.end_tap; ++a) {
      for (int64_t b = columns.first_tap; b < columns.end_tap; ++b) {
        const int64_t row = a * window.dilations[1] - window.begin[1];
        const int64_t column = b * window.dilations[2] - window.begin[2];
        taps[static_cast<size_t>(tile.tap_count++)] = {
            .source = (row * window.input[2] + column) * block_,
            .weights = (a * window.kernel[2] + b) * TapWeights()};
      }
    }
    const int64_t most = DirectPlaces();
    const int64_t count = rows.length() * columns.length();
    int64_t y = rows.first;
    int64_t x = columns.first;
    for (int64_t done = 0; done < count; done += most) {
      tile.count = std::min(most, count - done);
      for (int64_t i = 0; i < tile.count; ++i) {
        places[static_cast<size_t>(i)] =
            (y * window.strides[1] * window.input[2] + x * window.strides[2]) * block_;
        results[static_cast<size_t>(i)] = (y * window.output[2] + x) * to_block_;
        if (++x < columns.end) continue;
        x = columns.first;
        ++y;
      }
      SumPanels(tile);
    }
  }

  // Several at once where the places are few, and as many are there.
  static void SumPanels(const DirectTile& all) {
    const int64_t at_once = DirectPanels(all.count);
    for (int64_t panel = 0; panel < all.panels;) {
      const int64_t filter = panel * kDirectFilters;
      DirectTile tile = all;
      tile.panels = panel + at_once <= all.panels ? at_once : 1;
      tile.weights += panel * all.panel_stride;
      tile.to += filter / all.to_block * all.to_stride;
      if (all.bias != nullptr) tile.bias += filter;
      if (all.residual != nullptr) tile.residual += filter / all.to_block * all.to_stride;
      tile.filters = std::min(all.filters - filter, tile.panels * kDirectFilters);
      SumDirectTile(tile);
      panel += tile.panels;
    }
  }

  // The activation of lines [first, end) of one block of filters, of which `lanes` are there.
  void Finish(float* map, int64_t first, int64_t end, int64_t lanes) const {
    if (finish_.activation == nullptr) return;
    float* const to = map + first * LinePlaces() * to_block_;
    const int64_t places = (end - first) * LinePlaces();
    finish_.activation(to, to, places * to_block_, finish_.coefficients);
    for (int64_t p = 0; lanes < to_block_ && p < places; ++p) {
      std::fill(to + p * to_block_ + lanes, to + (p + 1) * to_block_, 0.0f);
    }
  }

  ConvolutionShape shape_;
  int64_t block_;
  ImageForm source_;
  int64_t to_block_;  // 1: plain
  ImageForm destination_;
  RowFinish finish_;
  bool has_bias_;
  bool has_residual_;
  std::vector<TapBand> rows_;
  std::vector<TapBand> columns_;
  const float* packed_ = nullptr;
};

}  // namespace

Result<KernelPointer> MakeDirectConvolution(const KernelSite& site,
                                            const FloatConvolution& wanted) {
  return DirectConvolution::Make(site, wanted);
}

bool CanBeDirectConvolution(const FloatConvolution& wanted) {
  const Window& window = wanted.shape.window;
  const bool planes = window.kernel[0] == 1 && window.input[0] == 1 && window.output[0] == 1 &&
                      window.begin[0] == 0 && window.strides[0] == 1;
  return planes && wanted.shape.groups == 1 && window.KernelSize() <= kMostDirectTaps;
}

bool SuitsDirectConvolution(const FloatConvolution& wanted) {
  const Window& window = wanted.shape.window;
  if (!CanBeDirectConvolution(wanted) || window.KernelSize() > kMostSuitableTaps) return false;
  if (!wanted.source_blocked && MostlyMeetsPadding(wanted.shape)) return true;
  // oneDNN sums over few channels as they lie; all others are brought into blocks first.
  if (!wanted.source_blocked && wanted.shape.channels <= kFewPlainChannels) return false;
  const int64_t reach = BlockSize() == 16 ? kOnednnWidePadding : kOnednnPadding;
  if (std::max(window.begin[2], window.End(2)) > reach) return true;
  const std::vector<TapBand> columns = TapBandsOf(window, 2);
  const std::vector<TapBand> rows = TapBandsOf(window, 1);
  const auto rectangles = static_cast<int64_t>(columns.size() * rows.size());
  const bool many = wanted.source_blocked && wanted.shape.filters >= kManyFilters &&
                    wanted.shape.channels >= kManyChannels;
  if (window.OutputSize() < kPlacesOfRectangle * rectangles && !many) return false;
  const bool skips = window.strides[1] > 1 || window.strides[2] > 1;
  if (!wanted.source_blocked && skips && window.KernelSize() <= kMostSkippingTaps) return true;
  double met = 0;
  for (const TapBand& some_rows : rows) {
    for (const TapBand& some : columns) {
      met +=
          static_cast<double>(some_rows.length() * some.length() * some_rows.taps() * some.taps());
    }
  }
  const auto all = static_cast<double>(window.OutputSize() * window.KernelSize());
  return met < (1 - kDirectPaddingShare) * all;
}

}  // namespace plimsoll::kernels::cpu
