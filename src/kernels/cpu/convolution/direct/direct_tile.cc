#include "kernels/cpu/convolution/direct/direct_tile.h"

#include <algorithm>

#include "kernels/cpu/movement/matrix_transpose.h"
#include "kernels/cpu/vector/vector_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/convolution/direct/direct_tile.cc"
// clang-format off: foreach_target.h must come first
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// clang-format on
#include "kernels/cpu/vector/registers-inl.h"

HWY_BEFORE_NAMESPACE();
namespace plimsoll::kernels::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

constexpr hn::CappedTag<float, kDirectFilters> kDirectLanes;
constexpr auto kDirectVector = static_cast<int64_t>(hn::MaxLanes(kDirectLanes));
constexpr int kDirectVectors = static_cast<int>(kDirectFilters / kDirectVector);
// As many totals as registers hold beside a row of weights and an element of the input.
constexpr int kDirectMostPlaces = kDirectVectors >= 12 ? 1 : 12 / kDirectVectors;
// Of several panels, where there are 32 registers.
constexpr int kDirectTotals = kDirectVectors == 1 ? 24 : 12 / kDirectVectors;

using Vector = hn::Vec<decltype(kDirectLanes)>;

// Blocks that are smaller than a vector, where oneDNN is held to narrower ones than the machine
// has.
HWY_NOINLINE void StoreInBlocks(const DirectTile& tile, int place, const float* sums) {
  for (int64_t filter = 0; filter < tile.filters; filter += tile.to_block) {
    const int64_t at = filter / tile.to_block * tile.to_stride + tile.results[place];
    for (int64_t i = 0; i < tile.to_block; ++i) {
      const float residual = tile.residual == nullptr ? 0.0f : tile.residual[at + i];
      tile.to[at + i] = sums[filter + i] + residual;
    }
  }
}

// Sums of all places, `width` apart, to a plain tensor: places that follow each other there go
// together.
HWY_NOINLINE void StorePlain(const DirectTile& tile, const float* sums, int64_t width) {
  for (int64_t place = 0; place < tile.count;) {
    const int64_t first = tile.results[place];
    const float* const from = sums + place * width;
    int64_t run = 1;
    while (place + run < tile.count && tile.results[place + run] == first + run) ++run;
    if (tile.residual == nullptr) {
      TransposeWords(reinterpret_cast<const uint32_t*>(from), width,
                     reinterpret_cast<uint32_t*>(tile.to + first), tile.to_stride, tile.filters,
                     run);
    }
    for (int64_t filter = 0; tile.residual != nullptr && filter < tile.filters; ++filter) {
      const int64_t at = filter * tile.to_stride + first;
      for (int64_t i = 0; i < run; ++i) {
        tile.to[at + i] = from[i * width + filter] + tile.residual[at + i];
      }
    }
    place += run;
  }
}

constexpr int PanelsFor(int places) {
  return std::clamp(kDirectTotals / places, 1, static_cast<int>(kMostDirectPanels));
}

template <int kPlaces, int kPanels>
HWY_INLINE void SumPlaces(const DirectTile& tile) {
  constexpr int kWidth = kPanels * kDirectVectors;
  Vector totals[kPlaces][kWidth];
#pragma GCC unroll 16
  for (int v = 0; v < kWidth; ++v) {
    const Vector bias = tile.bias == nullptr
                            ? hn::Zero(kDirectLanes)
                            : hn::LoadU(kDirectLanes, tile.bias + v * kDirectVector);
#pragma GCC unroll 16
    for (int p = 0; p < kPlaces; ++p) totals[p][v] = bias;
  }
  for (int64_t t = 0; t < tile.tap_count; ++t) {
    const float* weights = tile.weights + tile.taps[t].weights;
    const float* from = tile.source + tile.taps[t].source;
    for (int64_t b = 0; b < tile.channel_blocks; ++b) {
      const float* place[kPlaces];
#pragma GCC unroll 16
      for (int p = 0; p < kPlaces; ++p) place[p] = from + tile.places[p];
      for (int64_t c = 0; c < tile.block; ++c) {
        Vector row[kWidth];
#pragma GCC unroll 16
        for (int v = 0; v < kWidth; ++v) {
          row[v] = hn::LoadU(kDirectLanes, weights + v / kDirectVectors * tile.panel_stride +
                                               v % kDirectVectors * kDirectVector);
          if (kPlaces < 4) HoldInRegister(row[v]);
        }
#pragma GCC unroll 16
        for (int p = 0; p < kPlaces; ++p) {
          const Vector element = hn::Set(kDirectLanes, place[p][c]);
#pragma GCC unroll 16
          for (int v = 0; v < kWidth; ++v) {
            totals[p][v] = hn::MulAdd(element, row[v], totals[p][v]);
          }
        }
        weights += kDirectFilters;
      }
      from += tile.source_stride;
    }
  }
  if (tile.to_block == 1) {
    HWY_ALIGN float sums[kPlaces * kPanels * kDirectFilters];
#pragma GCC unroll 16
    for (int p = 0; p < kPlaces; ++p) {
#pragma GCC unroll 16
      for (int v = 0; v < kWidth; ++v) {
        hn::StoreU(totals[p][v], kDirectLanes,
                   sums + p * kPanels * kDirectFilters + v * kDirectVector);
      }
    }
    StorePlain(tile, sums, kPanels * kDirectFilters);
    return;
  }
  if (tile.to_block < kDirectVector) {
#pragma GCC unroll 16
    for (int p = 0; p < kPlaces; ++p) {
      // Not the totals themselves: who has an address is not kept in a register.
      HWY_ALIGN float sums[kPanels * kDirectFilters];
#pragma GCC unroll 16
      for (int v = 0; v < kWidth; ++v) {
        hn::StoreU(totals[p][v], kDirectLanes, sums + v * kDirectVector);
      }
      StoreInBlocks(tile, p, sums);
    }
    return;
  }
#pragma GCC unroll 16
  for (int v = 0; v < kWidth; ++v) {
    const int64_t filter = v * kDirectVector;
    if (filter >= tile.filters) break;
    const int64_t first = filter / tile.to_block * tile.to_stride + filter % tile.to_block;
#pragma GCC unroll 16
    for (int p = 0; p < kPlaces; ++p) {
      const int64_t at = first + tile.results[p];
      Vector total = totals[p][v];
      if (tile.residual != nullptr) {
        total = hn::Add(total, hn::LoadU(kDirectLanes, tile.residual + at));
      }
      hn::StoreU(total, kDirectLanes, tile.to + at);
    }
  }
}

template <int kPlaces>
void SumTileOf(const DirectTile& tile) {
  if constexpr (kPlaces > 1) {
    if (tile.count < kPlaces) return SumTileOf<kPlaces - 1>(tile);
  }
  if (tile.panels > 1) return SumPlaces<kPlaces, PanelsFor(kPlaces)>(tile);
  SumPlaces<kPlaces, 1>(tile);
}

void SumTile(const DirectTile& tile) { SumTileOf<kDirectMostPlaces>(tile); }

int64_t MostPlaces() { return kDirectMostPlaces; }

int64_t PanelsOf(int64_t places) { return PanelsFor(static_cast<int>(places)); }

}  // namespace HWY_NAMESPACE
}  // namespace plimsoll::kernels::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plimsoll::kernels::cpu {

HWY_EXPORT(SumTile);
HWY_EXPORT(MostPlaces);
HWY_EXPORT(PanelsOf);

int64_t DirectPanels(int64_t places) { return HWY_DYNAMIC_DISPATCH(PanelsOf)(places); }
int64_t DirectPlaces() { return HWY_DYNAMIC_DISPATCH(MostPlaces)(); }
void SumDirectTile(const DirectTile& tile) { HWY_DYNAMIC_DISPATCH(SumTile)(tile); }

}  // namespace plimsoll::kernels::cpu
#endif  // HWY_ONCE
