#include "kernels/cpu/product/gemm.h"

#include <algorithm>
#include <cstring>

#include "kernels/cpu/product/panel_product.h"
#include "kernels/cpu/vector/vector_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/product/gemm.cc"
// clang-format off: foreach_target.h must come first
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace plimsoll::kernels::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

constexpr hn::CappedTag<float, kPanelWidth> kLanes;
using Vector = hn::Vec<decltype(kLanes)>;
constexpr int kVectors = static_cast<int>(kPanelWidth / hn::MaxLanes(kLanes));
// As many totals as registers hold, with a row of B's panel and an element of A in the others:
// vectors as wide as a panel come with 32 registers, else there are 16.
constexpr int kMostPanels = kVectors == 1 ? 2 : 1;
constexpr int kMostRows = kVectors >= 12 ? 1 : 12 / kVectors;
// One row alone goes over several panels at once, so that sums do not wait for one another.
constexpr int kRowPanels = 4;
// Rows of A that stay in the second cache.
constexpr int64_t kRowBlock = 192;

// A tile of C: kGemmRows rows and kPanels panels, of which the last may be cut to `last_columns`.
// Where kFetches, the panel behind them is brought into the second cache on the way.
template <int kGemmRows, int kPanels, bool kFetches = false>
HWY_INLINE void Tile(const Gemm& gemm, int64_t depth, const float* HWY_RESTRICT a,
                     const float* HWY_RESTRICT b, int64_t last_columns, bool accumulate,
                     float* HWY_RESTRICT c) {
  constexpr int64_t kLaneCount = kPanelWidth / kVectors;
  constexpr int kWidth = kPanels * kVectors;
  const int64_t row_stride = gemm.a_row_stride;
  const int64_t depth_stride = gemm.a_depth_stride;
  Vector totals[kGemmRows][kWidth];
#pragma GCC unroll 16
  for (int r = 0; r < kGemmRows; ++r) {
#pragma GCC unroll 16
    for (int v = 0; v < kWidth; ++v) totals[r][v] = hn::Zero(kLanes);
  }
  for (int64_t d = 0; d < depth; ++d) {
    if constexpr (kFetches) __builtin_prefetch(b + kPanels * gemm.b.panel_stride, 0, 2);
    Vector row[kWidth];
#pragma GCC unroll 16
    for (int v = 0; v < kWidth; ++v) {
      row[v] =
          hn::LoadU(kLanes, b + v / kVectors * gemm.b.panel_stride + v % kVectors * kLaneCount);
    }
#pragma GCC unroll 16
    for (int r = 0; r < kGemmRows; ++r) {
      const Vector element = hn::Set(kLanes, a[r * row_stride]);
#pragma GCC unroll 16
      for (int v = 0; v < kWidth; ++v) totals[r][v] = hn::MulAdd(element, row[v], totals[r][v]);
    }
    a += depth_stride;
    b += gemm.b.row_stride;
  }
  const Vector scale = hn::Set(kLanes, gemm.scale);
  const bool whole = last_columns == kPanelWidth;
#pragma GCC unroll 16
  for (int r = 0; r < kGemmRows; ++r) {
    float* const to = c + r * gemm.c_stride;
    HWY_ALIGN float part[kPanelWidth] = {};
    if (!whole && accumulate) {
      std::copy_n(to + (kPanels - 1) * kPanelWidth, last_columns, part);
    }
#pragma GCC unroll 16
    for (int v = 0; v < kWidth; ++v) {
      const bool cut = !whole && v / kVectors == kPanels - 1;
      float* const place = cut ? part + v % kVectors * kLaneCount : to + v * kLaneCount;
      const Vector base = accumulate ? hn::LoadU(kLanes, place) : hn::Zero(kLanes);
      hn::StoreU(hn::MulAdd(totals[r][v], scale, base), kLanes, place);
    }
    if (!whole) std::copy_n(part, last_columns, to + (kPanels - 1) * kPanelWidth);
  }
}

// A tile of kPanels panels and `rows` rows, at most kGemmRows.
template <int kGemmRows, int kPanels>
HWY_INLINE void TileOf(int64_t rows, const Gemm& gemm, int64_t depth, const float* a,
                       const float* b, int64_t last_columns, bool accumulate, float* c) {
  if constexpr (kGemmRows > 1) {
    if (rows < kGemmRows) {
      TileOf<kGemmRows - 1, kPanels>(rows, gemm, depth, a, b, last_columns, accumulate, c);
      return;
    }
  }
  Tile<kGemmRows, kPanels, true>(gemm, depth, a, b, last_columns, accumulate, c);
}

// Has rows [first, last) of a panel brought into the second cache while others are worked on: the
// first tile of the next panel would else wait for memory.
HWY_INLINE void Fetch(const Gemm& gemm, const float* panel, int64_t first, int64_t last) {
  for (int64_t d = first; d < last; ++d) __builtin_prefetch(panel + d * gemm.b.row_stride, 0, 2);
}

// `rows` rows of kPanels panels from `column` on, the last of which may be cut; `a`, `b` and `c`
// are those of the first row and of the matrix's first column.
template <int kPanels>
void Panels(const Gemm& gemm, int64_t rows, int64_t column, int64_t depth, const float* a,
            const float* b, bool accumulate, float* c) {
  constexpr int64_t kColumns = kPanels * kPanelWidth;
  const float* const panel = b + column / kPanelWidth * gemm.b.panel_stride;
  const int64_t last_columns =
      std::min(kColumns, gemm.columns - column) - (kPanels - 1) * kPanelWidth;
  const int64_t next = std::min<int64_t>(
      kPanels, (gemm.columns - column - 1) / kPanelWidth - (kPanels - 1));  // panels that follow
  const int64_t tiles = (rows + kMostRows - 1) / kMostRows;
  int64_t row = 0;
  for (int64_t tile = 0; row + kMostRows <= rows; row += kMostRows, ++tile) {
    for (int64_t i = 0; i < next; ++i) {
      Fetch(gemm, panel + (kPanels + i) * gemm.b.panel_stride, depth * tile / tiles,
            depth * (tile + 1) / tiles);
    }
    Tile<kMostRows, kPanels>(gemm, depth, a + row * gemm.a_row_stride, panel, last_columns,
                             accumulate, c + row * gemm.c_stride + column);
  }
  if (row < rows) {
    TileOf<kMostRows, kPanels>(rows - row, gemm, depth, a + row * gemm.a_row_stride, panel,
                               last_columns, accumulate, c + row * gemm.c_stride + column);
  }
}

// Rows [first, last) of C, with `depth` products of each sum from `from` on.
void Block(const Gemm& gemm, int64_t first, int64_t last, int64_t from, int64_t depth) {
  const bool accumulate = gemm.accumulate || from > 0;
  const float* const a = gemm.a + from * gemm.a_depth_stride;
  const float* const b = gemm.b.data + from * gemm.b.row_stride;
  int64_t column = 0;
  if (last - first == 1) {
    for (; column + kRowPanels * kPanelWidth <= gemm.columns; column += kRowPanels * kPanelWidth) {
      Tile<1, kRowPanels>(gemm, depth, a + first * gemm.a_row_stride,
                          b + column / kPanelWidth * gemm.b.panel_stride, kPanelWidth, accumulate,
                          gemm.c + first * gemm.c_stride + column);
    }
  }
  const int64_t rows = last - first;
  const float* const first_a = a + first * gemm.a_row_stride;
  float* const first_c = gemm.c + first * gemm.c_stride;
  if constexpr (kMostPanels > 1) {
    constexpr int64_t kColumns = kMostPanels * kPanelWidth;
    for (; column + kColumns - kPanelWidth < gemm.columns; column += kColumns) {
      Panels<kMostPanels>(gemm, rows, column, depth, first_a, b, accumulate, first_c);
    }
  }
  for (; column < gemm.columns; column += kPanelWidth) {
    Panels<1>(gemm, rows, column, depth, first_a, b, accumulate, first_c);
  }
}

void Multiply(const Gemm& gemm) {
  const int64_t parts = GemmDepthParts(gemm.depth);
  for (int64_t row = 0; row < gemm.rows; row += kRowBlock) {
    const int64_t last = std::min(row + kRowBlock, gemm.rows);
    for (int64_t part = 0; part < parts; ++part) {
      const int64_t from = gemm.depth * part / parts;
      Block(gemm, row, last, from, gemm.depth * (part + 1) / parts - from);
    }
  }
}

GemmTile TileSize() { return {.rows = kMostRows, .panels = kMostPanels}; }

}  // namespace HWY_NAMESPACE
}  // namespace plimsoll::kernels::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plimsoll::kernels::cpu {

HWY_EXPORT(Multiply);
HWY_EXPORT(TileSize);

GemmTile GemmTileHere() { return HWY_DYNAMIC_DISPATCH(TileSize)(); }

void RunGemm(const Gemm& gemm) {
  if (gemm.depth == 0 && !gemm.accumulate) {
    for (int64_t row = 0; row < gemm.rows; ++row) {
      std::fill_n(gemm.c + row * gemm.c_stride, gemm.columns, 0.0f);
    }
    return;
  }
  HWY_DYNAMIC_DISPATCH(Multiply)(gemm);
}

}  // namespace plimsoll::kernels::cpu
#endif  // HWY_ONCE
