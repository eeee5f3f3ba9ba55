#include "kernels/cpu/convolution/winograd/winograd_loops.h"

#include "kernels/cpu/vector/vector_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/convolution/winograd/winograd_loops.cc"
// clang-format off: foreach_target.h must come first
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace plimsoll::kernels::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Points 0, 1, -1 and infinity.
struct PointsOfTwo {
  static constexpr int kResults = 2;
  static constexpr int kInputs = 4;

  template <typename D, typename V>
  static HWY_INLINE void Source(D, const V (&d)[kInputs], V (&t)[kInputs]) {
    t[0] = hn::Sub(d[0], d[2]);
    t[1] = hn::Add(d[1], d[2]);
    t[2] = hn::Sub(d[2], d[1]);
    t[3] = hn::Sub(d[1], d[3]);
  }
  template <typename D, typename V>
  static HWY_INLINE void Result(D, const V (&m)[kInputs], V (&y)[kResults]) {
    y[0] = hn::Add(hn::Add(m[0], m[1]), m[2]);
    y[1] = hn::Sub(hn::Sub(m[1], m[2]), m[3]);
  }
};

// Points 0, a, -a, b, -b and infinity, with a = 3/4 and b = 3/2: of those whose factors are short
// binary fractions, the ones that lose fewest digits.
struct PointsOfFour {
  static constexpr int kResults = 4;
  static constexpr int kInputs = 6;
  static constexpr float kA = 0.75f;
  static constexpr float kB = 1.5f;

  template <typename D, typename V>
  static HWY_INLINE void Source(D d_, const V (&d)[kInputs], V (&t)[kInputs]) {
    const V a = hn::Set(d_, kA);
    const V b = hn::Set(d_, kB);
    const V a2 = hn::Set(d_, kA * kA);
    const V b2 = hn::Set(d_, kB * kB);
    const V both = hn::Set(d_, kA * kA + kB * kB);
    const V product = hn::Set(d_, kA * kA * kB * kB);
    t[0] = hn::MulAdd(product, d[0], hn::NegMulAdd(both, d[2], d[4]));
    const V even_a = hn::NegMulAdd(b2, d[2], d[4]);
    const V odd_a = hn::NegMulAdd(b2, d[1], d[3]);
    t[1] = hn::MulAdd(a, odd_a, even_a);
    t[2] = hn::NegMulAdd(a, odd_a, even_a);
    const V even_b = hn::NegMulAdd(a2, d[2], d[4]);
    const V odd_b = hn::NegMulAdd(a2, d[1], d[3]);
    t[3] = hn::MulAdd(b, odd_b, even_b);
    t[4] = hn::NegMulAdd(b, odd_b, even_b);
    t[5] = hn::MulAdd(product, d[1], hn::NegMulAdd(both, d[3], d[5]));
  }
  template <typename D, typename V>
  static HWY_INLINE void Result(D d, const V (&m)[kInputs], V (&y)[kResults]) {
    const V sum_a = hn::Add(m[1], m[2]);
    const V sum_b = hn::Add(m[3], m[4]);
    const V difference_a = hn::Sub(m[1], m[2]);
    const V difference_b = hn::Sub(m[3], m[4]);
    y[0] = hn::Add(m[0], hn::Add(sum_a, sum_b));
    y[1] = hn::MulAdd(hn::Set(d, kA), difference_a, hn::Mul(hn::Set(d, kB), difference_b));
    y[2] = hn::MulAdd(hn::Set(d, kA * kA), sum_a, hn::Mul(hn::Set(d, kB * kB), sum_b));
    y[3] = hn::MulAdd(hn::Set(d, kA * kA * kA), difference_a,
                      hn::MulAdd(hn::Set(d, kB * kB * kB), difference_b, m[5]));
  }
};

// Sums beyond this one may not be finite after the transform.
constexpr float kWinogradLargest = 1e33f;

template <typename Points, int kBlock>
HWY_INLINE void TransformTile(const float* from, int64_t row_stride, int64_t column_stride,
                              float* to, int64_t to_stride) {
  constexpr hn::CappedTag<float, kBlock> lanes;
  using Vector = hn::Vec<decltype(lanes)>;
  constexpr int kInputs = Points::kInputs;
  for (int part = 0; part < kBlock; part += static_cast<int>(hn::MaxLanes(lanes))) {
    Vector half[kInputs][kInputs];
    for (int x = 0; x < kInputs; ++x) {
      Vector d[kInputs], t[kInputs];
#pragma GCC unroll 8
      for (int y = 0; y < kInputs; ++y) {
        d[y] = hn::LoadU(lanes, from + part + y * row_stride + x * column_stride);
      }
      Points::Source(lanes, d, t);
#pragma GCC unroll 8
      for (int y = 0; y < kInputs; ++y) half[y][x] = t[y];
    }
    for (int y = 0; y < kInputs; ++y) {
      Vector t[kInputs];
      Points::Source(lanes, half[y], t);
#pragma GCC unroll 8
      for (int x = 0; x < kInputs; ++x) {
        hn::StoreU(t[x], lanes, to + part + (y * kInputs + x) * to_stride);
      }
    }
  }
}

template <typename Points>
void TransformTileOf(const float* from, int64_t row_stride, int64_t column_stride, int64_t block,
                     float* to, int64_t to_stride) {
  if (block == 8) return TransformTile<Points, 8>(from, row_stride, column_stride, to, to_stride);
  TransformTile<Points, 16>(from, row_stride, column_stride, to, to_stride);
}

template <typename Points, int kLanes>
HWY_INLINE bool TransformResult(const WinogradResult& result) {
  constexpr hn::CappedTag<float, kLanes> lanes;
  using Vector = hn::Vec<decltype(lanes)>;
  constexpr int kInputs = Points::kInputs;
  constexpr int kResults = Points::kResults;
  constexpr int kVector = static_cast<int>(hn::MaxLanes(lanes));
  constexpr int kParts = kLanes / kVector;
  Vector half[kParts][kResults][kInputs];
  // Every sum is a part of the first results or of the last ones.
  Vector ends = hn::Zero(lanes);
  for (int part = 0; part < kParts; ++part) {
    for (int x = 0; x < kInputs; ++x) {
      Vector m[kInputs], y[kResults];
#pragma GCC unroll 8
      for (int i = 0; i < kInputs; ++i) {
        m[i] =
            hn::LoadU(lanes, result.sums + part * kVector + (i * kInputs + x) * result.sums_stride);
      }
      Points::Result(lanes, m, y);
#pragma GCC unroll 8
      for (int i = 0; i < kResults; ++i) half[part][i][x] = y[i];
      ends = hn::Add(ends, hn::Add(hn::Abs(y[0]), hn::Abs(y[kResults - 1])));
    }
  }
  if (!hn::AllTrue(lanes, hn::Lt(ends, hn::Set(lanes, kWinogradLargest)))) return false;
  const Vector least = hn::Set(lanes, result.least);
  const Vector greatest = hn::Set(lanes, result.greatest);
  for (int part = 0; part < kParts; ++part) {
    const Vector bias =
        result.bias == nullptr ? hn::Zero(lanes) : hn::LoadU(lanes, result.bias + part * kVector);
    for (int y = 0; y < result.rows; ++y) {
      Vector made[kResults];
      Points::Result(lanes, half[part][y], made);
#pragma GCC unroll 8
      for (int x = 0; x < kResults; ++x) {
        if (x >= result.columns) break;
        Vector one = hn::Add(made[x], bias);
        if (result.residual != nullptr) {
          one = hn::Add(one,
                        hn::LoadU(lanes, result.residual + y * result.residual_row_stride +
                                             x * result.residual_column_stride + part * kVector));
        }
        // A bound comes first, so that what is not a number stays what it is.
        hn::StoreU(hn::Min(greatest, hn::Max(least, one)), lanes,
                   result.to + y * result.row_stride + x * result.column_stride + part * kVector);
      }
    }
  }
  return true;
}

template <typename Points>
bool TransformResultOf(const WinogradResult& result) {
  return result.lanes == 8 ? TransformResult<Points, 8>(result)
                           : TransformResult<Points, 16>(result);
}

constexpr hn::CappedTag<float, kWinogradFilters> kWinogradLanes;
constexpr auto kWinogradVector = static_cast<int>(hn::MaxLanes(kWinogradLanes));
constexpr int kWinogradVectors = static_cast<int>(kWinogradFilters) / kWinogradVector;
// Where a vector holds a panel there are registers for twice as many totals.
constexpr int kWinogradPanels = kWinogradVectors == 1 ? 2 : 1;
// As many totals as registers hold beside a row of weights and an element of a tile.
constexpr int kWinogradTotals = kWinogradVectors == 1 ? 24 : 12;
constexpr int kWinogradTiles =
    kWinogradVectors > kWinogradTotals ? 1 : kWinogradTotals / kWinogradPanels / kWinogradVectors;

// Sums of some tiles with one or two panels of weights at one position.
template <int kBlock, int kPanels, int kTiles>
HWY_INLINE void MultiplyTiles(const WinogradProduct& product, const float* tiles,
                              const float* weights, int64_t panel_stride, float* sums,
                              int64_t sums_panel_stride) {
  using Vector = hn::Vec<decltype(kWinogradLanes)>;
  Vector totals[kTiles][kPanels][kWinogradVectors];
#pragma GCC unroll 16
  for (int t = 0; t < kTiles; ++t) {
#pragma GCC unroll 16
    for (int p = 0; p < kPanels; ++p) {
#pragma GCC unroll 16
      for (int v = 0; v < kWinogradVectors; ++v) totals[t][p][v] = hn::Zero(kWinogradLanes);
    }
  }
  for (int64_t b = 0; b < product.channel_blocks; ++b) {
    for (int c = 0; c < kBlock; ++c) {
      Vector row[kPanels][kWinogradVectors];
#pragma GCC unroll 16
      for (int p = 0; p < kPanels; ++p) {
#pragma GCC unroll 16
        for (int v = 0; v < kWinogradVectors; ++v) {
          row[p][v] = hn::LoadU(kWinogradLanes, weights + p * panel_stride + v * kWinogradVector);
        }
      }
#pragma GCC unroll 16
      for (int t = 0; t < kTiles; ++t) {
        const Vector element = hn::Set(kWinogradLanes, tiles[t * kBlock + c]);
#pragma GCC unroll 16
        for (int p = 0; p < kPanels; ++p) {
#pragma GCC unroll 16
          for (int v = 0; v < kWinogradVectors; ++v) {
            totals[t][p][v] = hn::MulAdd(element, row[p][v], totals[t][p][v]);
          }
        }
      }
      weights += kWinogradFilters;
    }
    tiles += product.block_stride;
  }
#pragma GCC unroll 16
  for (int t = 0; t < kTiles; ++t) {
#pragma GCC unroll 16
    for (int p = 0; p < kPanels; ++p) {
#pragma GCC unroll 16
      for (int v = 0; v < kWinogradVectors; ++v) {
        hn::StoreU(totals[t][p][v], kWinogradLanes,
                   sums + p * sums_panel_stride + t * kWinogradFilters + v * kWinogradVector);
      }
    }
  }
}

template <int kBlock, int kPanels, int kTiles>
void MultiplyUpTo(int64_t count, const WinogradProduct& product, const float* tiles,
                  const float* weights, int64_t panel_stride, float* sums,
                  int64_t sums_panel_stride) {
  if constexpr (kTiles > 1) {
    if (count < kTiles) {
      return MultiplyUpTo<kBlock, kPanels, kTiles - 1>(count, product, tiles, weights, panel_stride,
                                                       sums, sums_panel_stride);
    }
  }
  MultiplyTiles<kBlock, kPanels, kTiles>(product, tiles, weights, panel_stride, sums,
                                         sums_panel_stride);
}

template <int kPositions, int kBlock, int kPanels>
void MultiplyPositions(const WinogradProduct& product) {
  const int64_t position_weights = product.channel_blocks * kBlock * kWinogradFilters;
  for (int64_t position = 0; position < kPositions; ++position) {
    const float* const tiles = product.tiles + position * product.position_stride;
    const float* const weights = product.weights + position * position_weights;
    float* const sums = product.sums + position * product.sums_stride;
    for (int64_t done = 0; done < product.tile_count; done += kWinogradTiles) {
      MultiplyUpTo<kBlock, kPanels, kWinogradTiles>(
          product.tile_count - done, product, tiles + done * kBlock, weights,
          kPositions * position_weights, sums + done * kWinogradFilters,
          kPositions * product.sums_stride);
    }
  }
}

template <int kPositions, int kBlock>
void MultiplyBlocks(const WinogradProduct& product) {
  if constexpr (kWinogradPanels > 1) {
    if (product.panels > 1) return MultiplyPositions<kPositions, kBlock, 2>(product);
  }
  MultiplyPositions<kPositions, kBlock, 1>(product);
}

template <int kPositions>
void Multiply(const WinogradProduct& product) {
  if (product.block == 8) return MultiplyBlocks<kPositions, 8>(product);
  MultiplyBlocks<kPositions, 16>(product);
}

template <typename Points>
constexpr WinogradLoops kWinogradLoops = {.tiles_at_once = kWinogradTiles,
                                          .panels_at_once = kWinogradPanels,
                                          .transform_tile = TransformTileOf<Points>,
                                          .multiply = Multiply<Points::kInputs * Points::kInputs>,
                                          .transform_result = TransformResultOf<Points>};

const WinogradLoops* LoopsOf(int64_t results) {
  return results == PointsOfTwo::kResults ? &kWinogradLoops<PointsOfTwo>
                                          : &kWinogradLoops<PointsOfFour>;
}

}  // namespace HWY_NAMESPACE
}  // namespace plimsoll::kernels::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plimsoll::kernels::cpu {

HWY_EXPORT(LoopsOf);

const WinogradLoops& WinogradLoopsFor(int64_t results) {
  return *HWY_DYNAMIC_DISPATCH(LoopsOf)(results);
}

}  // namespace plimsoll::kernels::cpu
#endif  // HWY_ONCE
