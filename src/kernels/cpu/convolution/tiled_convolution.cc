#include "kernels/cpu/convolution/tiled_convolution.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/blocking.h"
#include "kernels/cpu/convolution/convolution_primitive.h"
#include "kernels/cpu/movement/matrix_transpose.h"
#include "kernels/cpu/product/packed_operand.h"
#include "kernels/parallel.h"

namespace plimsoll::kernels::cpu {
namespace {

using onednn::Primitive;

constexpr Bytes kMostTileBytes = Bytes(1 << 20);
// Multiplications in whose time one element is moved, and those of one call of a primitive.
constexpr double kMoveCost = 8;
// Columns in whose time a row of a tile is begun.
constexpr double kRowColumns = 4;
constexpr double kCallCost = 60'000;
// What a product needs for a multiplication of a primitive, and for one element that it gathers.
constexpr double kProductCost = 1.5;
constexpr double kGatherCost = 4;
// What it costs that threads share the work on one tile.
constexpr double kSharedTileCost = 1.3;
// Elements whose move is worth a thread of their own.
constexpr int64_t kThreadMoves = 1 << 13;

// Places of the output along each axis that are computed at once, filters in equal pieces. Threads
// take tiles of their own, or share the work on one.
struct Tile {
  Window::Sizes sizes = {};
  int64_t pieces = 1;
  int64_t at_once = 1;

  int64_t columns() const { return sizes[2]; }
  int64_t SourceSize(const Window& window, size_t axis) const {
    return (sizes[axis] - 1) * window.strides[axis] + window.Extent(axis);
  }
  Window::Sizes SourceSizes(const Window& window) const {
    return {SourceSize(window, 0), SourceSize(window, 1), SourceSize(window, 2)};
  }
  int64_t SourcePlaces(const Window& window) const { return Count(SourceSizes(window)); }
  int64_t Places() const { return Count(sizes); }

  FloatConvolution Of(FloatConvolution whole) const {
    Window& window = whole.shape.window;
    whole.shape.batch = 1;
    whole.shape.filters /= pieces;
    window.input = SourceSizes(window);
    window.output = sizes;
    window.begin = {0, 0, 0};
    window.declared_end = {0, 0, 0};
    whole.source_blocked = true;
    whole.destination_blocked = true;
    return whole;
  }

 private:
  static int64_t Count(const Window::Sizes& sizes) { return sizes[0] * sizes[1] * sizes[2]; }
};

int64_t Rounded(int64_t channels) {
  const int64_t block = BlockSize();
  return (channels + block - 1) / block * block;
}

// The time of one place of the output, in multiplications.
double CostOf(const ConvolutionShape& shape, bool has_residual, const Tile& tile) {
  const auto places = static_cast<double>(tile.Places());
  const auto gathered = static_cast<double>(tile.SourcePlaces(shape.window)) / places;
  const auto filters = static_cast<double>(shape.filters);
  const int64_t channels = shape.groups == 1 ? Rounded(shape.channels) : shape.GroupChannels();
  return static_cast<double>(channels * shape.window.KernelSize()) *
             static_cast<double>(Rounded(shape.filters)) +
         kMoveCost * (1 + kRowColumns / static_cast<double>(tile.columns())) *
             (gathered * static_cast<double>(shape.channels) + filters * (has_residual ? 2 : 1)) +
         kCallCost * static_cast<double>(tile.pieces) / places;
}

double ProductCost(const ConvolutionShape& shape) {
  const auto depth = static_cast<double>(shape.GroupChannels() * shape.window.KernelSize());
  return depth * static_cast<double>(shape.filters) * kProductCost +
         depth * static_cast<double>(shape.groups) * kGatherCost;
}

Bytes SizeOf(const ConvolutionShape& shape, const Tile& tile) {
  const int64_t source =
      SaturatingMultiply(Rounded(shape.channels), tile.SourcePlaces(shape.window));
  const int64_t made = Rounded(shape.filters / tile.pieces) * tile.Places();
  return Bytes(sizeof(float)) * SaturatingAdd(source, made);
}

int64_t TileCount(const ConvolutionShape& shape, const Tile& tile) {
  const Window& window = shape.window;
  int64_t count = shape.batch;
  for (size_t axis = 0; axis < Window::kAxes; ++axis) {
    count *= (window.output[axis] + tile.sizes[axis] - 1) / tile.sizes[axis];
  }
  return count;
}

// How much longer the work of all threads takes than an equal share for each.
double WaitCost(const ConvolutionShape& shape, const Tile& tile) {
  if (Threads() == 1) return 1;
  if (tile.at_once == 1) return kSharedTileCost;
  const int64_t tiles = TileCount(shape, tile);
  const int64_t rounds = (tiles + tile.at_once - 1) / tile.at_once;
  return static_cast<double>(rounds * tile.at_once) / static_cast<double>(tiles);
}

// The next smaller size that divides `whole` into more parts of nearly equal size; 0 after 1.
int64_t NextSmaller(int64_t whole, int64_t size) {
  if (size <= 1) return 0;
  const int64_t parts = (whole + size - 1) / size + 1;
  return std::min((whole + parts - 1) / parts, size - 1);
}

// The sizes that divide `whole` into parts of nearly equal size, and it itself.
std::vector<int64_t> SizesOf(int64_t whole) {
  std::vector<int64_t> sizes;
  for (int64_t size = whole; size > 0; size = NextSmaller(whole, size)) sizes.push_back(size);
  return sizes;
}

// The tile with the smallest cost of those that there is room for.
std::optional<Tile> ChooseTile(const ConvolutionShape& shape, bool has_residual, Bytes room) {
  const Window& window = shape.window;
  std::optional<Tile> best;
  double least = ProductCost(shape);
  const int64_t piece = 4 * int64_t{BlockSize()};
  const bool cuts = shape.groups == 1 && shape.filters % piece == 0 && shape.filters > piece;
  const auto consider = [&](const Tile& tile) {
    if (SizeOf(shape, tile) * tile.at_once > room) return;
    const double cost = CostOf(shape, has_residual, tile) * WaitCost(shape, tile);
    if (cost >= least) return;
    least = cost;
    best = tile;
  };
  for (const int64_t pieces : {int64_t{1}, cuts ? shape.filters / piece : int64_t{1}}) {
    for (const int64_t planes : SizesOf(window.output[0])) {
      for (const int64_t rows : SizesOf(window.output[1])) {
        for (const int64_t columns : SizesOf(window.output[2])) {
          Tile tile{{planes, rows, columns}, pieces};
          consider(tile);
          tile.at_once = std::min<int64_t>(Threads(), TileCount(shape, tile));
          if (tile.at_once > 1) consider(tile);
        }
      }
    }
  }
  return best;
}

// A convolution of single places sees an image as one long row: its tiles are long too.
FloatConvolution AsOneRow(FloatConvolution whole) {
  Window& window = whole.shape.window;
  for (size_t axis = 0; axis < Window::kAxes; ++axis) {
    const bool plain = window.kernel[axis] == 1 && window.strides[axis] == 1 &&
                       window.begin[axis] == 0 && window.input[axis] == window.output[axis];
    if (!plain) return whole;
  }
  for (Window::Sizes* const sizes : {&window.input, &window.output}) {
    *sizes = {1, 1, (*sizes)[0] * (*sizes)[1] * (*sizes)[2]};
  }
  return whole;
}

// See MakeTiledConvolution.
class TiledConvolution final : public Kernel {
 public:
  static Result<KernelPointer> Make(const KernelSite& site, const FloatConvolution& wanted,
                                    const Tile& tile) {
    const FloatConvolution part = tile.Of(wanted);
    const ConvolutionForms forms = FormsOf(part);
    // One thread runs a whole tile then, and what oneDNN cuts for many is slower in one.
    std::optional<ThreadScope> alone;
    if (tile.at_once > 1) alone.emplace(1);
    PLIMSOLL_ASSIGN(Primitive primitive, MakeConvolutionPrimitive(site, part, forms));
    alone.reset();
    const bool fits = primitive.source() == forms.source &&
                      primitive.destination() == forms.destination &&
                      !primitive.MultipliesMatrices();
    if (!fits) return site.Unsupported("oneDNN has no fast convolution of this shape");
    WorkspaceLayout workspace;
    std::vector<Parts> places;
    for (int64_t i = 0; i < tile.at_once; ++i) {
      places.push_back({.source = workspace.Take(forms.source.size()),
                        .made = workspace.Take(forms.destination.size()),
                        .scratchpad = workspace.Take(primitive.scratchpad())});
    }
    // Weights are packed by nobody who then leaves the node to others: their plain form may go.
    if (workspace.total() > site.most_workspace) {
      return site.Unsupported("there is no room for a tile");
    }
    PLIMSOLL_ASSIGN(PackedOperand weights,
                    PackedOperand::Make(site, kConvolutionWeights, forms.weights,
                                        primitive.weights(), tile.pieces, workspace));
    if (weights.IsReorderedInRuns()) return site.Unsupported("the weights are not packed");
    std::unique_ptr<TiledConvolution> kernel(
        new TiledConvolution(site, wanted, tile, std::move(primitive), std::move(weights)));
    kernel->places_ = std::move(places);
    kernel->workspace_ = workspace.total();
    if (!site.looked_at) {
      std::optional<ThreadScope> alone;
      if (tile.at_once > 1) alone.emplace(1);
      PLIMSOLL_TRY(kernel->primitive_.Build());
    }
    return KernelPointer(std::move(kernel));
  }

  Bytes workspace() const override { return workspace_; }
  std::string_view implementation() const override { return primitive_.implementation(); }
  std::string_view workspace_purpose() const override {
    return "a tile in the form that oneDNN is fast in";
  }

  Status Run(const KernelCall& call) const override {
    const int64_t tiles = TileCount(shape_, tile_);
    std::atomic<bool> failed = false;
    const auto run = [&](int64_t i, int64_t thread) {
      if (!RunTile(call, places_[static_cast<size_t>(thread)], PlaceOf(i)).ok()) failed = true;
    };
    ParallelPieces(tiles, tile_.at_once, run);
    if (!failed) return {};
    return Error{.kind = ErrorKind::kRunFailed,
                 .code = "kernel.onednn",
                 .what = "oneDNN cannot run a tile of a convolution",
                 .where = "",
                 .why = "one of its primitives failed",
                 .remedy = ""};
  }

 private:
  struct Place {
    int64_t image = 0;
    Window::Sizes first = {};  // of the tile
    Window::Sizes fresh = {};  // of what no tile before it wrote
  };
  // Offsets in the workspace of what belongs to one tile at a time.
  struct Parts {
    int64_t source;
    int64_t made;
    int64_t scratchpad;
  };

  // The last tiles end where the output does, and write what is new alone.
  Place PlaceOf(int64_t number) const {
    const Window& window = shape_.window;
    Place place;
    for (size_t axis = Window::kAxes; axis-- > 0;) {
      const int64_t count = (window.output[axis] + tile_.sizes[axis] - 1) / tile_.sizes[axis];
      place.fresh[axis] = number % count * tile_.sizes[axis];
      place.first[axis] = std::min(place.fresh[axis], window.output[axis] - tile_.sizes[axis]);
      number /= count;
    }
    place.image = number;
    return place;
  }

  TiledConvolution(const KernelSite& site, const FloatConvolution& wanted, const Tile& tile,
                   Primitive primitive, PackedOperand weights)
      : shape_(wanted.shape),
        source_blocked_(wanted.source_blocked),
        destination_blocked_(wanted.destination_blocked),
        has_bias_(site.has_input(kConvolutionBias)),
        has_residual_(site.has_input(kConvolutionResidual)),
        tile_(tile),
        primitive_(std::move(primitive)),
        weights_(std::move(weights)) {}

  Status RunTile(const KernelCall& call, const Parts& parts, const Place& place) const {
    const int64_t filters = shape_.filters / tile_.pieces;
    BringSource(call, place, At<float>(call.workspace, parts.source));
    for (int64_t piece = 0; piece < tile_.pieces; ++piece) {
      PLIMSOLL_ASSIGN(const void* const weights,
                      weights_.Get(call.inputs[kConvolutionWeights], piece, call.workspace));
      const auto* const bias =
          static_cast<const float*>(has_bias_ ? call.inputs[kConvolutionBias] : nullptr);
      if (has_residual_) {
        auto* const residual =
            static_cast<float*>(const_cast<void*>(call.inputs[kConvolutionResidual]));
        MoveMade(place, piece * filters, filters, residual, At<float>(call.workspace, parts.made),
                 false);
      }
      PLIMSOLL_TRY(primitive_.Run({.source = At(call.workspace, parts.source),
                                   .weights = weights,
                                   .bias = bias == nullptr ? nullptr : bias + piece * filters,
                                   .destination = At(call.workspace, parts.made),
                                   .scratchpad = At(call.workspace, parts.scratchpad)}));
      MoveMade(place, piece * filters, filters, static_cast<float*>(call.outputs[0]),
               At<float>(call.workspace, parts.made), true);
    }
    return {};
  }

  // What the tile looks at, with zeros where there is padding.
  void BringSource(const KernelCall& call, const Place& place, float* tile) const {
    const Window& window = shape_.window;
    const int64_t block = BlockSize();
    const auto [planes, rows, columns] = tile_.SourceSizes(window);
    Window::Sizes first;
    for (size_t axis = 0; axis < Window::kAxes; ++axis) {
      first[axis] = place.first[axis] * window.strides[axis] - window.begin[axis];
    }
    const int64_t low = std::clamp<int64_t>(-first[2], 0, columns);
    const int64_t high = std::clamp<int64_t>(window.input[2] - first[2], low, columns);
    const int64_t channels = source_blocked_ ? Rounded(shape_.channels) : shape_.channels;
    const float* const source = static_cast<const float*>(call.inputs[kConvolutionData]) +
                                place.image * channels * window.InputSize();
    const int64_t grain = kThreadMoves / (planes * rows * columns * block) + 1;
    ParallelFor(Rounded(shape_.channels) / block, grain, [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b) {
        const int64_t lanes = std::min(block, shape_.channels - b * block);
        for (int64_t row = 0; row < planes * rows; ++row) {
          float* const to = tile + (b * planes * rows + row) * columns * block;
          const int64_t z = first[0] + row / rows;
          const int64_t y = first[1] + row % rows;
          const bool inside = z >= 0 && z < window.input[0] && y >= 0 && y < window.input[1];
          if (!inside || low == high) {
            std::fill_n(to, columns * block, 0.0f);
            continue;
          }
          std::fill_n(to, low * block, 0.0f);
          std::fill(to + high * block, to + columns * block, 0.0f);
          const int64_t at = (z * window.input[1] + y) * window.input[2] + first[2] + low;
          const float* const channel = source + b * block * window.InputSize();
          if (source_blocked_) {
            std::copy_n(channel + at * block, (high - low) * block, to + low * block);
          } else {
            ToBlock(channel + at, window.InputSize(), lanes, high - low, to + low * block);
          }
        }
      }
    });
  }

  static void ToBlock(const float* from, int64_t plane, int64_t lanes, int64_t count, float* to) {
    const int64_t block = BlockSize();
    if (lanes < block) std::fill_n(to, count * block, 0.0f);
    TransposeWords(reinterpret_cast<const uint32_t*>(from), plane, reinterpret_cast<uint32_t*>(to),
                   block, count, lanes);
  }

  // Between the tile of some filters and `other`, the output or the residual.
  void MoveMade(const Place& place, int64_t first, int64_t filters, float* other, float* tile,
                bool out) const {
    const Window& window = shape_.window;
    const int64_t block = BlockSize();
    const int64_t all = destination_blocked_ ? Rounded(shape_.filters) : shape_.filters;
    float* const image = other + (place.image * all + first) * window.OutputSize();
    const Window::Sizes& from = out ? place.fresh : place.first;
    const auto end = [&](size_t axis) { return place.first[axis] + tile_.sizes[axis]; };
    const int64_t rows = end(1) - from[1];
    const int64_t count = end(2) - from[2];
    const int64_t grain = kThreadMoves / (tile_.Places() * block) + 1;
    ParallelFor(Rounded(filters) / block, grain, [&](int64_t begin, int64_t past) {
      for (int64_t b = begin; b < past; ++b) {
        const int64_t lanes = std::min(block, filters - b * block);
        float* const filter = image + b * block * window.OutputSize();
        for (int64_t row = 0; row < (end(0) - from[0]) * rows; ++row) {
          const int64_t z = from[0] + row / rows;
          const int64_t y = from[1] + row % rows;
          const int64_t line =
              (b * tile_.sizes[0] + z - place.first[0]) * tile_.sizes[1] + y - place.first[1];
          float* const here = tile + (line * tile_.columns() + from[2] - place.first[2]) * block;
          const int64_t at = (z * window.output[1] + y) * window.output[2] + from[2];
          if (destination_blocked_) {
            float* const there = filter + at * block;
            std::copy_n(out ? here : there, count * block, out ? there : here);
          } else if (out) {
            TransposeWords(reinterpret_cast<const uint32_t*>(here), block,
                           reinterpret_cast<uint32_t*>(filter + at), window.OutputSize(), lanes,
                           count);
          } else {
            ToBlock(filter + at, window.OutputSize(), lanes, count, here);
          }
        }
      }
    });
  }

  ConvolutionShape shape_;
  bool source_blocked_;
  bool destination_blocked_;
  bool has_bias_;
  bool has_residual_;
  Tile tile_;
  Primitive primitive_;
  PackedOperand weights_;
  std::vector<Parts> places_;  // one for each tile at once
  Bytes workspace_;
};

}  // namespace

Result<KernelPointer> MakeTiledConvolution(const KernelSite& site, const FloatConvolution& given) {
  const FloatConvolution wanted = AsOneRow(given);
  // The same tile for any number of threads where every bit must be.
  std::optional<ThreadScope> one;
  if (site.deterministic) one.emplace(1);
  const std::optional<Tile> tile = ChooseTile(wanted.shape, site.has_input(kConvolutionResidual),
                                              std::min(site.most_workspace, kMostTileBytes));
  one.reset();
  if (!tile) return site.Unsupported("a product is faster than small tiles");
  return TiledConvolution::Make(site, wanted, *tile);
}

}  // namespace plimsoll::kernels::cpu
