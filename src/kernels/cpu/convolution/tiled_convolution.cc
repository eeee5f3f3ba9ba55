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

// Rows and columns of the output that are computed at once, filters in equal pieces. Threads take
// tiles of their own, or share the work on one.
struct Tile {
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t pieces = 1;
  int64_t at_once = 1;

  int64_t SourceRows(const Window& window) const {
    return (rows - 1) * window.strides[1] + window.Extent(1);
  }
  int64_t SourceColumns(const Window& window) const {
    return (columns - 1) * window.strides[2] + window.Extent(2);
  }
  int64_t SourcePlaces(const Window& window) const {
    return SourceRows(window) * SourceColumns(window);
  }
  int64_t Places() const { return rows * columns; }

  FloatConvolution Of(FloatConvolution whole) const {
    Window& window = whole.shape.window;
    whole.shape.batch = 1;
    whole.shape.filters /= pieces;
    window.input = {1, SourceRows(window), SourceColumns(window)};
    window.output = {1, rows, columns};
    window.begin = {0, 0, 0};
    window.declared_end = {0, 0, 0};
    whole.source_blocked = true;
    whole.destination_blocked = true;
    return whole;
  }
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
         kMoveCost * (1 + kRowColumns / static_cast<double>(tile.columns)) *
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
  return shape.batch * ((window.output[1] + tile.rows - 1) / tile.rows) *
         ((window.output[2] + tile.columns - 1) / tile.columns);
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
    for (int64_t rows = window.output[1]; rows > 0; rows = NextSmaller(window.output[1], rows)) {
      for (int64_t columns = window.output[2]; columns > 0;
           columns = NextSmaller(window.output[2], columns)) {
        Tile tile{rows, columns, pieces};
        consider(tile);
        tile.at_once = std::min<int64_t>(Threads(), TileCount(shape, tile));
        if (tile.at_once > 1) consider(tile);
      }
    }
  }
  return best;
}

// A convolution of single places sees an image as one long row: its tiles are long too.
FloatConvolution AsOneRow(FloatConvolution whole) {
  Window& window = whole.shape.window;
  if (window.input[0] != 1) return whole;
  for (const size_t axis : {size_t{1}, size_t{2}}) {
    const bool plain = window.kernel[axis] == 1 && window.strides[axis] == 1 &&
                       window.begin[axis] == 0 && window.input[axis] == window.output[axis];
    if (!plain) return whole;
  }
  for (Window::Sizes* const sizes : {&window.input, &window.output}) {
    *sizes = {1, 1, (*sizes)[1] * (*sizes)[2]};
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
    PLIMSOLL_ASSIGN(PackedOperand weights,
                    PackedOperand::Make(site, kConvolutionWeights, forms.weights,
                                        primitive.weights(), tile.pieces, workspace));
    if (weights.IsReorderedInRuns()) return site.Unsupported("the weights are not packed");
    std::unique_ptr<TiledConvolution> kernel(
        new TiledConvolution(site, wanted, tile, std::move(primitive), std::move(weights)));
    for (int64_t i = 0; i < tile.at_once; ++i) {
      kernel->places_.push_back({.source = workspace.Take(forms.source.size()),
                                 .made = workspace.Take(forms.destination.size()),
                                 .scratchpad = workspace.Take(kernel->primitive_.scratchpad())});
    }
    kernel->workspace_ = workspace.total();
    if (kernel->workspace_ > site.most_workspace) {
      return site.Unsupported("there is no room for a tile");
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
    const auto run = [&](int64_t begin, int64_t end) {
      for (int64_t part = begin; part < end; ++part) {
        const int64_t first = tiles * part / tile_.at_once;
        const int64_t last = tiles * (part + 1) / tile_.at_once;
        for (int64_t i = first; i < last; ++i) {
          if (!RunTile(call, places_[static_cast<size_t>(part)], PlaceOf(i)).ok()) failed = true;
        }
      }
    };
    if (tile_.at_once > 1) {
      ParallelFor(tile_.at_once, 1, run);
    } else {
      run(0, 1);
    }
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
    int64_t image;
    int64_t y;
    int64_t x;
    int64_t new_y;
    int64_t new_x;
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
    const int64_t across = (window.output[2] + tile_.columns - 1) / tile_.columns;
    const int64_t down = (window.output[1] + tile_.rows - 1) / tile_.rows;
    const int64_t y = number / across % down * tile_.rows;
    const int64_t x = number % across * tile_.columns;
    return {.image = number / across / down,
            .y = std::min(y, window.output[1] - tile_.rows),
            .x = std::min(x, window.output[2] - tile_.columns),
            .new_y = y,
            .new_x = x};
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
    const int64_t rows = tile_.SourceRows(window);
    const int64_t columns = tile_.SourceColumns(window);
    const int64_t top = place.y * window.strides[1] - window.begin[1];
    const int64_t left = place.x * window.strides[2] - window.begin[2];
    const int64_t low = std::clamp<int64_t>(-left, 0, columns);
    const int64_t high = std::clamp<int64_t>(window.input[2] - left, low, columns);
    const int64_t channels = source_blocked_ ? Rounded(shape_.channels) : shape_.channels;
    const float* const source = static_cast<const float*>(call.inputs[kConvolutionData]) +
                                place.image * channels * window.InputSize();
    const int64_t grain = kThreadMoves / (rows * columns * block) + 1;
    ParallelFor(Rounded(shape_.channels) / block, grain, [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b) {
        const int64_t lanes = std::min(block, shape_.channels - b * block);
        for (int64_t row = 0; row < rows; ++row) {
          float* const to = tile + (b * rows + row) * columns * block;
          const int64_t y = top + row;
          if (y < 0 || y >= window.input[1] || low == high) {
            std::fill_n(to, columns * block, 0.0f);
            continue;
          }
          std::fill_n(to, low * block, 0.0f);
          std::fill(to + high * block, to + columns * block, 0.0f);
          const int64_t at = y * window.input[2] + left + low;
          const float* const plane = source + b * block * window.InputSize();
          if (source_blocked_) {
            std::copy_n(plane + at * block, (high - low) * block, to + low * block);
          } else {
            ToBlock(plane + at, window.InputSize(), lanes, high - low, to + low * block);
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
    const int64_t top = out ? place.new_y : place.y;
    const int64_t left = out ? place.new_x : place.x;
    const int64_t count = place.x + tile_.columns - left;
    const int64_t grain = kThreadMoves / (tile_.Places() * block) + 1;
    ParallelFor(Rounded(filters) / block, grain, [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b) {
        const int64_t lanes = std::min(block, filters - b * block);
        for (int64_t y = top; y < place.y + tile_.rows; ++y) {
          float* const here =
              tile + ((b * tile_.rows + y - place.y) * tile_.columns + left - place.x) * block;
          float* const plane = image + b * block * window.OutputSize();
          const int64_t at = y * window.output[2] + left;
          if (destination_blocked_) {
            float* const there = plane + at * block;
            std::copy_n(out ? here : there, count * block, out ? there : here);
          } else if (out) {
            TransposeWords(reinterpret_cast<const uint32_t*>(here), block,
                           reinterpret_cast<uint32_t*>(plane + at), window.OutputSize(), lanes,
                           count);
          } else {
            ToBlock(plane + at, window.OutputSize(), lanes, count, here);
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
  const Window& window = wanted.shape.window;
  const bool planes = window.kernel[0] == 1 && window.input[0] == 1 && window.output[0] == 1 &&
                      window.begin[0] == 0;
  if (!planes || window.rank > 2) return site.Unsupported("tiles have two axes at most");
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
