#include "kernels/cpu/convolution/winograd/winograd_cost.h"

#include <algorithm>

#include "kernels/blocking.h"
#include "kernels/cpu/convolution/direct/direct_convolution.h"
#include "kernels/cpu/convolution/winograd/winograd_loops.h"
#include "kernels/cpu/convolution/winograd/winograd_tiles.h"
#include "kernels/parallel.h"

namespace plimsoll::kernels::cpu {
namespace {

// In multiplications: the transform of a tile's channel and of a filter's results, for each
// position, and a byte of weights that is brought from memory.
constexpr double kTransformTileCost = 14;
constexpr double kTransformResultCost = 10;
constexpr double kWeightByteCost = 3;
constexpr double kWeightByteAgainCost = 1.5;  // from the last cache
// Of a multiplication where windows meet much padding.
constexpr double kDirectTileCost = 2;
// Groups of tiles whose transforms stay in the second cache, as far as there are enough tiles to
// use weights often.
constexpr int64_t kGroupFloats = int64_t{5} << 14;
constexpr int64_t kFewestGroupTiles = 24;

// Multiplications that are worth a thread of their own.
constexpr double kWinogradThreadWork = 1 << 18;

int64_t Parts(int64_t count, int64_t by) { return (count + by - 1) / by; }

int64_t RoundedToBlocks(int64_t channels) {
  return Parts(channels, BlockSize()) * int64_t{BlockSize()};
}

}  // namespace

bool SuitsWinograd(const FloatConvolution& wanted) {
  const ConvolutionShape& shape = wanted.shape;
  const Window& window = shape.window;
  const bool planes = window.kernel[0] == 1 && window.input[0] == 1 && window.output[0] == 1 &&
                      window.begin[0] == 0;
  const bool three = window.kernel[1] == kWinogradTaps && window.kernel[2] == kWinogradTaps &&
                     window.strides[1] == 1 && window.strides[2] == 1;
  return planes && three && shape.groups == 1 && wanted.source_blocked &&
         wanted.destination_blocked;
}

double DirectCost(const FloatConvolution& wanted) {
  const ConvolutionShape& shape = wanted.shape;
  double places = static_cast<double>(shape.batch * shape.window.OutputSize());
  if (SuitsDirectConvolution(wanted)) places *= kDirectTileCost;
  const auto weights = static_cast<double>(shape.window.KernelSize()) *
                       static_cast<double>(RoundedToBlocks(shape.channels)) *
                       static_cast<double>(RoundedToBlocks(shape.filters));
  return places * weights / Threads() + weights * sizeof(float) * kWeightByteCost;
}

double WinogradCost(const FloatConvolution& wanted, int64_t results, const WinogradCut& cut) {
  const ConvolutionShape& shape = wanted.shape;
  const WinogradTiles all(shape.window, shape.batch, results);
  const auto positions = static_cast<double>((results + 2) * (results + 2));
  const auto tiles = static_cast<double>(Parts(all.count(), cut.tile_parts));
  const auto groups = static_cast<double>(Parts(Parts(all.count(), cut.tile_parts), cut.tiles));
  const auto channels = static_cast<double>(RoundedToBlocks(shape.channels));
  const auto filters = static_cast<double>(
      Parts(Parts(shape.filters, kWinogradFilters), cut.filter_parts) * kWinogradFilters);
  const double weights = channels * filters * sizeof(float);
  return positions * (tiles * (channels * kTransformTileCost + filters * kTransformResultCost +
                               channels * filters) +
                      weights * (kWeightByteCost + (groups - 1) * kWeightByteAgainCost));
}

Bytes WinogradWorkspace(const ConvolutionShape& shape, int64_t results, const WinogradCut& cut) {
  const int64_t of_tile = (results + 2) * (results + 2) *
                          (RoundedToBlocks(shape.channels) + kWinogradFilters * cut.panels);
  return Bytes(sizeof(float)) * of_tile * cut.tiles * cut.parts();
}

std::optional<WinogradCut> CutWinograd(const FloatConvolution& wanted, int64_t results,
                                       Bytes most_workspace) {
  const ConvolutionShape& shape = wanted.shape;
  const WinogradLoops& loops = WinogradLoopsFor(results);
  const int64_t tiles = WinogradTiles(shape.window, shape.batch, results).count();
  const int64_t panels = Parts(shape.filters, kWinogradFilters);
  const int64_t positions = (results + 2) * (results + 2);
  const int64_t most = std::clamp(kGroupFloats / (positions * RoundedToBlocks(shape.channels)),
                                  kFewestGroupTiles, kMostWinogradGroup);
  const double whole = WinogradCost(wanted, results, {.tiles = most});
  const auto threads = static_cast<int64_t>(
      std::clamp(whole / kWinogradThreadWork, 1.0, static_cast<double>(Threads())));
  std::optional<WinogradCut> best;
  double least = 0;
  for (int64_t tile_parts = 1; tile_parts <= std::min(threads, tiles); ++tile_parts) {
    WinogradCut cut;
    cut.tile_parts = tile_parts;
    cut.filter_parts = std::min(threads / tile_parts, panels);
    cut.panels = std::min(loops.panels_at_once, Parts(panels, cut.filter_parts));
    const Bytes of_tile = WinogradWorkspace(shape, results, cut);
    const int64_t fitting = std::min(most, most_workspace.value() / of_tile.value()) /
                            loops.tiles_at_once * loops.tiles_at_once;
    if (fitting == 0) continue;
    const int64_t own = Parts(tiles, tile_parts);
    cut.tiles = Parts(Parts(own, Parts(own, fitting)), loops.tiles_at_once) * loops.tiles_at_once;
    const double cost = WinogradCost(wanted, results, cut);
    if (best && cost >= least) continue;
    least = cost;
    best = cut;
  }
  return best;
}

}  // namespace plimsoll::kernels::cpu
