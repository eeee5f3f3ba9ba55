#include "kernels/cpu/convolution/winograd/winograd_convolution.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <vector>

#include "kernels/blocking.h"
#include "kernels/cpu/convolution/convolution_primitive.h"
#include "kernels/cpu/convolution/image_form.h"
#include "kernels/cpu/convolution/rows/row_finish.h"
#include "kernels/cpu/convolution/winograd/winograd_cost.h"
#include "kernels/cpu/convolution/winograd/winograd_loops.h"
#include "kernels/cpu/convolution/winograd/winograd_tiles.h"
#include "kernels/cpu/convolution/winograd/winograd_weights.h"
#include "kernels/cpu/workspace.h"
#include "kernels/parallel.h"
#include "plimsoll/base/text.h"

namespace plimsoll::kernels::cpu {
namespace {

constexpr float kEndless = std::numeric_limits<float>::infinity();
constexpr int64_t kLeastBlock = 8;
constexpr int64_t kMostBlock = 16;
constexpr std::array<float, kMostBlock> kZeros = {};
constexpr int64_t kMostTileFloats = kMostWinogradInputs * kMostWinogradInputs * kMostBlock;
// Of the weights, transformed and let go at once.
constexpr int64_t kWeightSlice = int64_t{1} << 18;
// Of the time by the definition: estimates are not exact.
constexpr double kLeastSaved = 0.1;
constexpr int64_t kMostResultFloats =
    kMostWinogradResults * kMostWinogradResults * kWinogradFilters;

// See winograd_convolution.h.
class WinogradConvolution final : public Kernel {
 public:
  static Result<KernelPointer> Make(const KernelSite& site, const FloatConvolution& wanted,
                                    int64_t results, const WinogradCut& cut) {
    std::unique_ptr<WinogradConvolution> kernel(
        new WinogradConvolution(site, wanted, results, cut));
    PLIMSOLL_TRY(kernel->PackWeights(site));
    return KernelPointer(std::move(kernel));
  }

  static WinogradWeights WeightsOf(const ConvolutionShape& shape, int64_t results) {
    const int64_t block = BlockSize();
    return {.results = results,
            .filters = shape.filters,
            .channels = shape.channels,
            .rounded_channels = (shape.channels + block - 1) / block * block};
  }
  Bytes workspace() const override { return WinogradWorkspace(shape_, weights_.results, cut_); }
  std::string_view implementation() const override { return "ours:winograd"; }
  std::string_view workspace_purpose() const override { return "transformed tiles of the input"; }

  Status Run(const KernelCall& call) const override {
    const int64_t most = (tiles_.count() + cut_.tile_parts - 1) / cut_.tile_parts;
    const int64_t groups = (most + cut_.tiles - 1) / cut_.tiles;
    ParallelPieces(cut_.parts() * groups, cut_.parts(), [&](int64_t piece, int64_t thread) {
      RunGroup(call, piece / groups, piece % groups, thread);
    });
    return {};
  }

 private:
  // A tile with its places in the images; one at a time of a group.
  struct Placed {
    WinogradTiles::Tile tile;
    bool inside = false;  // no padding under it
    int64_t source = 0;   // of its first element, where it is inside
    int64_t result = 0;
  };

  WinogradConvolution(const KernelSite& site, const FloatConvolution& wanted, int64_t results,
                      const WinogradCut& cut)
      : shape_(wanted.shape),
        block_(BlockSize()),
        tiles_(wanted.shape.window, wanted.shape.batch, results),
        weights_(WeightsOf(wanted.shape, results)),
        loops_(&WinogradLoopsFor(results)),
        cut_(cut),
        source_{wanted.shape.window.InputSize(), BlockSize()},
        destination_{wanted.shape.window.OutputSize(), BlockSize()},
        finish_(wanted.activation),
        has_bias_(site.has_input(kConvolutionBias)),
        has_residual_(site.has_input(kConvolutionResidual)) {
    using Kind = FusedActivation::Kind;
    const Kind kind = wanted.activation.kind;
    if (kind == Kind::kRelu) least_ = 0;
    if (kind == Kind::kClip) least_ = wanted.activation.alpha;
    if (kind == Kind::kClip) greatest_ = wanted.activation.beta;
    // Lanes without a filter stay zero.
    bounded_ = (kind == Kind::kNone || kind == Kind::kRelu || kind == Kind::kClip) && least_ <= 0 &&
               greatest_ >= 0;
  }

  Status PackWeights(const KernelSite& site) {
    const TensorInfo& tensor = site.inputs[kConvolutionWeights];
    PLIMSOLL_ASSIGN(const void* const packed,
                    site.packed_weights->Pack(
                        tensor.data, tensor.size(),
                        StrCat("winograd ", weights_.results, " of ", shape_.filters, "x",
                               shape_.channels, " in ", weights_.rounded_channels),
                        Bytes(sizeof(float)) * weights_.Elements(),
                        [&](void* to) { return TransformWeights(site, static_cast<float*>(to)); }));
    packed_ = static_cast<const float*>(packed);
    return {};
  }

  // Slice by slice, and what has been read is let go: the plain form is never there as a whole.
  Status TransformWeights(const KernelSite& site, float* to) const {
    const auto* const plain = static_cast<const float*>(site.inputs[kConvolutionWeights].data);
    const int64_t filter = shape_.channels * shape_.window.KernelSize();
    const int64_t step = std::max<int64_t>(kWeightSlice / (filter * kWinogradFilters), 1);
    for (int64_t first = 0; first < weights_.Panels(); first += step) {
      const int64_t last = std::min(first + step, weights_.Panels());
      const float* const slice = plain + first * kWinogradFilters * filter;
      const float* const end = plain + std::min(last * kWinogradFilters, shape_.filters) * filter;
      if (!std::all_of(slice, end, [](float one) { return std::isfinite(one); })) {
        return site.Unsupported("a weight is not finite");
      }
      weights_.Transform(plain, first, last, to);
      site.packed_weights->Forget(slice, Bytes((end - slice) * int64_t{sizeof(float)}));
    }
    return {};
  }

  static const float* Input(const KernelCall& call, size_t i) {
    return i < call.inputs.size() ? static_cast<const float*>(call.inputs[i]) : nullptr;
  }

  // One group of a part's tiles, with its panels, in the memory of a thread.
  void RunGroup(const KernelCall& call, int64_t part, int64_t number, int64_t thread) const {
    const int64_t tile_part = part / cut_.filter_parts;
    const int64_t filter_part = part % cut_.filter_parts;
    const int64_t end = tiles_.count() * (tile_part + 1) / cut_.tile_parts;
    const int64_t panels = weights_.Panels();
    const int64_t first_panel = panels * filter_part / cut_.filter_parts;
    const int64_t end_panel = panels * (filter_part + 1) / cut_.filter_parts;
    const int64_t first = tiles_.count() * tile_part / cut_.tile_parts + number * cut_.tiles;
    if (first >= end) return;
    auto* const tiles = At<float>(call.workspace, workspace().value() / cut_.parts() * thread);
    float* const sums = tiles + weights_.Positions() * weights_.rounded_channels * cut_.tiles;
    std::array<Placed, kMostWinogradGroup> placed;
    const std::span<Placed> group(placed.data(),
                                  static_cast<size_t>(std::min(cut_.tiles, end - first)));
    for (size_t i = 0; i < group.size(); ++i) {
      group[i] = Place(tiles_[first + static_cast<int64_t>(i)]);
    }
    TransformTiles(call, group, tiles);
    for (int64_t panel = first_panel; panel < end_panel; panel += cut_.panels) {
      const int64_t count = std::min(cut_.panels, end_panel - panel);
      Multiply(tiles, std::ssize(group), panel, count, sums);
      for (int64_t i = 0; i < count; ++i) {
        const float* const of_panel =
            sums + i * weights_.Positions() * cut_.tiles * kWinogradFilters;
        TransformResults(call, group, panel + i, of_panel);
      }
    }
  }

  Placed Place(const WinogradTiles::Tile& tile) const {
    const Window& window = shape_.window;
    const int64_t last = tiles_.results() + kWinogradTaps - 2;
    Placed placed{.tile = tile};
    placed.inside = tile.top >= 0 && tile.left >= 0 &&
                    tile.top + last * tiles_.row_step() < window.input[1] &&
                    tile.left + last * tiles_.column_step() < window.input[2];
    placed.source = tile.image * source_.Elements(shape_.channels) +
                    (tile.top * window.input[2] + tile.left) * block_;
    placed.result = tile.image * destination_.Elements(shape_.filters) +
                    (tile.row * window.output[2] + tile.column) * block_;
    return placed;
  }

  void TransformTiles(const KernelCall& call, std::span<const Placed> group, float* tiles) const {
    const int64_t inputs = tiles_.results() + kWinogradTaps - 1;
    const int64_t position_stride = weights_.rounded_channels * cut_.tiles;
    const int64_t row = tiles_.row_step() * shape_.window.input[2] * block_;
    const int64_t column = tiles_.column_step() * block_;
    const float* const source = Input(call, kConvolutionData);
    alignas(64) std::array<float, kMostTileFloats> copy;
    for (int64_t c = 0; c < weights_.rounded_channels; c += block_) {
      float* to = tiles + c * cut_.tiles;
      for (const Placed& placed : group) {
        if (placed.inside) {
          loops_->transform_tile(source + placed.source + c * source_.places, row, column, block_,
                                 to, position_stride);
        } else {
          CopyTile(source, placed.tile, c, copy.data());
          loops_->transform_tile(copy.data(), inputs * block_, block_, block_, to, position_stride);
        }
        to += block_;
      }
    }
  }

  // The tile's elements of one block of channels, with zeros where there is padding.
  void CopyTile(const float* source, const WinogradTiles::Tile& tile, int64_t channel,
                float* to) const {
    const Window& window = shape_.window;
    const int64_t inputs = tiles_.results() + kWinogradTaps - 1;
    const float* const image =
        source + tile.image * source_.Elements(shape_.channels) + source_.At(channel);
    for (int64_t y = 0; y < inputs; ++y) {
      const int64_t row = tile.top + y * tiles_.row_step();
      const bool there = row >= 0 && row < window.input[1];
      for (int64_t x = 0; x < inputs; ++x, to += block_) {
        const int64_t column = tile.left + x * tiles_.column_step();
        const bool inside = there && column >= 0 && column < window.input[2];
        CopyBlock(inside ? image + (row * window.input[2] + column) * block_ : kZeros.data(), to);
      }
    }
  }

  // As so many moves of a known size, which need no call.
  void CopyBlock(const float* from, float* to) const {
    for (int64_t i = 0; i < block_; i += kLeastBlock) {
      std::memcpy(to + i, from + i, kLeastBlock * sizeof(float));
    }
  }

  void Multiply(const float* tiles, int64_t count, int64_t panel, int64_t panels,
                float* sums) const {
    loops_->multiply({.tiles = tiles,
                      .tile_count = count,
                      .block = block_,
                      .channel_blocks = weights_.rounded_channels / block_,
                      .block_stride = cut_.tiles * block_,
                      .position_stride = cut_.tiles * weights_.rounded_channels,
                      .weights = packed_ + panel * weights_.PanelElements(),
                      .panels = panels,
                      .sums = sums,
                      .sums_stride = cut_.tiles * kWinogradFilters});
  }

  void TransformResults(const KernelCall& call, std::span<const Placed> group, int64_t panel,
                        const float* sums) const {
    std::array<float, kWinogradFilters> bias = {};
    const int64_t first = panel * kWinogradFilters;
    const int64_t filters = std::min(kWinogradFilters, shape_.filters - first);
    if (has_bias_) std::copy_n(Input(call, kConvolutionBias) + first, filters, bias.begin());
    const int64_t row = tiles_.row_step() * shape_.window.output[2] * block_;
    const int64_t column = tiles_.column_step() * block_;
    for (int64_t done = 0; done < filters; done += block_) {
      WinogradResult result{.sums = sums + done,
                            .sums_stride = cut_.tiles * kWinogradFilters,
                            .lanes = block_,
                            .bias = bias.data() + done,
                            .residual_row_stride = row,
                            .residual_column_stride = column,
                            .row_stride = row,
                            .column_stride = column,
                            .least = least_,
                            .greatest = greatest_};
      for (const Placed& placed : group) {
        const int64_t at = placed.result + destination_.At(first + done);
        result.rows = placed.tile.rows;
        result.columns = placed.tile.columns;
        result.to = static_cast<float*>(call.outputs[0]) + at;
        if (has_residual_) result.residual = Input(call, kConvolutionResidual) + at;
        const bool made = bounded_ && loops_->transform_result(result);
        if (!made) FinishTile(call, placed.tile, panel, done, result);
        result.sums += kWinogradFilters;
      }
    }
  }

  // The results of one tile for a block of the panel's filters from the `first` one on, with an
  // activation that is more than bounds, or by the definition.
  void FinishTile(const KernelCall& call, const WinogradTiles::Tile& tile, int64_t panel,
                  int64_t first, WinogradResult result) const {
    const int64_t lanes = std::min(block_, shape_.filters - panel * kWinogradFilters - first);
    float* const to = result.to;
    const int64_t row = result.row_stride;
    const int64_t column = result.column_stride;
    alignas(64) std::array<float, kMostResultFloats> made;
    result.to = made.data();
    result.row_stride = tile.columns * block_;
    result.column_stride = block_;
    result.least = -kEndless;
    result.greatest = kEndless;
    if (!loops_->transform_result(result)) SumDirectly(call, tile, panel, first, result);
    if (finish_.activation != nullptr) {
      finish_.activation(made.data(), made.data(), tile.rows * tile.columns * block_,
                         finish_.coefficients);
    }
    for (int64_t y = 0; y < tile.rows; ++y) {
      for (int64_t x = 0; x < tile.columns; ++x) {
        float* const place = to + y * row + x * column;
        CopyBlock(made.data() + (y * tile.columns + x) * block_, place);
        std::fill(place + lanes, place + block_, 0.0f);
      }
    }
  }

  // Sums, bias and residual by the definition.
  void SumDirectly(const KernelCall& call, const WinogradTiles::Tile& tile, int64_t panel,
                   int64_t first, const WinogradResult& result) const {
    const int64_t inputs = tiles_.results() + kWinogradTaps - 1;
    const float* const weights = packed_ + panel * weights_.PanelElements();
    alignas(64) std::array<float, kMostTileFloats> copy;
    WinogradWeights::Taps taps;
    const auto for_each_place = [&](const auto& sum) {
      for (int64_t y = 0; y < tile.rows; ++y) {
        for (int64_t x = 0; x < tile.columns; ++x) {
          sum(y, x, result.to + y * result.row_stride + x * result.column_stride);
        }
      }
    };
    for_each_place([&](int64_t, int64_t, float* to) { CopyBlock(result.bias, to); });
    for (int64_t c = 0; c < shape_.channels; ++c) {
      if (c % block_ == 0) CopyTile(Input(call, kConvolutionData), tile, c, copy.data());
      weights_.Restore(weights, c, taps);
      for_each_place([&](int64_t y, int64_t x, float* to) {
        for (int64_t tap = 0; tap < kWinogradTaps * kWinogradTaps; ++tap) {
          const int64_t at = (y + tap / kWinogradTaps) * inputs + x + tap % kWinogradTaps;
          const float element = copy[static_cast<size_t>(at * block_ + c % block_)];
          const float* const of_tap = taps[static_cast<size_t>(tap)].data() + first;
          for (int64_t i = 0; i < block_; ++i) to[i] += element * of_tap[i];
        }
      });
    }
    if (result.residual == nullptr) return;
    for_each_place([&](int64_t y, int64_t x, float* to) {
      const float* const residual =
          result.residual + y * result.residual_row_stride + x * result.residual_column_stride;
      for (int64_t i = 0; i < block_; ++i) to[i] += residual[i];
    });
  }

  ConvolutionShape shape_;
  int64_t block_;
  WinogradTiles tiles_;
  WinogradWeights weights_;
  const WinogradLoops* loops_;
  WinogradCut cut_;
  ImageForm source_;
  ImageForm destination_;
  RowFinish finish_;
  bool has_bias_;
  bool has_residual_;
  bool bounded_ = false;  // the activation is least_ and greatest_ alone
  float least_ = -kEndless;
  float greatest_ = kEndless;
  const float* packed_ = nullptr;
};

// The kernel's way with so many results of a tile.
Trade TradeOf(const KernelSite& site, const FloatConvolution& wanted, int64_t results,
              const WinogradCut& cut) {
  const ConvolutionShape& shape = wanted.shape;
  const WinogradWeights weights = WinogradConvolution::WeightsOf(shape, results);
  return {.name = StrCat("winograd ", results),
          .input = kConvolutionWeights,
          .packed = Bytes(sizeof(float)) * weights.Elements(),
          .usual = site.inputs[kConvolutionWeights].size(),
          .workspace = WinogradWorkspace(shape, results, cut),
          .saved = DirectCost(wanted) - WinogradCost(wanted, results, cut)};
}

}  // namespace

Result<KernelPointer> OfferWinogradConvolution(const KernelSite& site,
                                               const FloatConvolution& wanted) {
  const TensorInfo& tensor = site.inputs[kConvolutionWeights];
  if (!SuitsWinograd(wanted) || !tensor.constant || site.packed_weights == nullptr) {
    return KernelPointer();
  }
  // What it saves, and whether there is room for it, depends on the number of threads.
  if (site.deterministic) return KernelPointer();
  for (const int64_t results : {int64_t{2}, int64_t{4}}) {
    const std::optional<WinogradCut> cut = CutWinograd(wanted, results, site.most_workspace);
    if (!cut) continue;
    const Trade trade = TradeOf(site, wanted, results, *cut);
    if (!site.packed_weights->Wants(tensor.data, tensor.size(), trade.packed, Bytes())) continue;
    if (trade.saved > kLeastSaved * DirectCost(wanted)) site.alternatives.Offer(trade);
    if (site.alternatives.wanted != trade.name) continue;
    Result<KernelPointer> made = WinogradConvolution::Make(site, wanted, results, *cut);
    if (made.ok()) return made;
  }
  return KernelPointer();
}

}  // namespace plimsoll::kernels::cpu
