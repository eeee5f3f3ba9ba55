#pragma once

#include <optional>

#include "kernels/cpu/convolution/float_convolution.h"
#include "plimsoll/base/bytes.h"

namespace plimsoll::kernels::cpu {

inline constexpr int64_t kMostWinogradGroup = 48;  // tiles

// How the work of a Winograd convolution is cut: into `tile_parts` times `filter_parts` parts that
// run at once, each over groups of `tiles` tiles.
struct WinogradCut {
  int64_t tile_parts = 1;
  int64_t filter_parts = 1;
  int64_t tiles = 1;
  int64_t panels = 1;  // of filters, that a part multiplies with at a time

  int64_t parts() const { return tile_parts * filter_parts; }
};

// Whether the convolution can be done so at all: 3 x 3 windows over blocked channels, stride 1, no
// groups.
bool SuitsWinograd(const FloatConvolution& wanted);

// What transformed tiles and sums of all parts take.
Bytes WinogradWorkspace(const ConvolutionShape& shape, int64_t results, const WinogradCut& cut);

// The fastest one with at most that workspace, for `results` x `results` results of a tile and as
// many threads as the calling one has; nothing where there is no room for a few tiles.
std::optional<WinogradCut> CutWinograd(const FloatConvolution& wanted, int64_t results,
                                       Bytes most_workspace);

// Time on one of the threads, in multiplications of a convolution by its definition: what that
// takes, and what Winograd's takes.
double DirectCost(const FloatConvolution& wanted);
double WinogradCost(const FloatConvolution& wanted, int64_t results, const WinogradCut& cut);

}  // namespace plimsoll::kernels::cpu
