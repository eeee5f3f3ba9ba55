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
#include "kernels/cpu/vector/registers-inl.h"

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
// A few rows go over several panels at once, so that sums do not wait for one another.
constexpr int PanelsAtOnce(int rows) {
  const int wanted = rows == 1 && kVectors == 1 ? 8 : rows < 5 ? 4 : 2;
  const int most = std::min(kMostRows * kMostPanels / rows, wanted);
  return std::max(most / kMostPanels, 1) * kMostPanels;
}
// Rows of A that stay in the second cache.
constexpr int64_t kRowBlock = 192;

// Rows of C, with some of the products of each sum.
struct Block {
  int64_t from = 0;
  int64_t depth = 0;
  const float* a = nullptr;
  const float* b = nullptr;
  bool accumulate = false;
  float* c = nullptr;
};

// What a tile brings into the second cache on the way, as much as it reads itself.
struct Fetch {
  bool panels = false;  // behind its own
  bool rows = false;    // below its own
};

// A tile of C: kGemmRows rows of a block from `row` on, and kPanels panels of it from `column` on,
// of which the last may be cut.
template <int kGemmRows, int kPanels, Fetch kFetch>
HWY_INLINE void Tile(const Gemm& gemm, const Block& block, int64_t row, int64_t column) {
  const float* const HWY_RESTRICT a = block.a + row * gemm.a_row_stride;
  const float* HWY_RESTRICT b = block.b + column / kPanelWidth * gemm.b.panel_stride;
  float* const HWY_RESTRICT c = block.c + row * gemm.c_stride + column;
  const int64_t last_columns =
      std::min(kPanelWidth, gemm.columns - column - (kPanels - 1) * kPanelWidth);
  const bool accumulate = block.accumulate;
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
  RowPointers<kGemmRows> rows(a, row_stride);
  const float* next = OwnPointer(b + kPanels * gemm.b.panel_stride);
  // As long as one of its own rows is worked on, so much of all rows below follows.
  const float* below = OwnPointer(a - block.from + kGemmRows * (row_stride + block.from));
  for (int64_t d = 0; d < block.depth; ++d) {
    if constexpr (kFetch.panels) {
#pragma GCC unroll 16
      for (int p = 0; p < kPanels; ++p) {
        __builtin_prefetch(next + p * gemm.b.panel_stride, 0, 2);
      }
    }
    if constexpr (kFetch.rows) {
      __builtin_prefetch(below, 0, 2);
      below += kGemmRows;
    }
    Vector row[kWidth];
#pragma GCC unroll 16
    for (int v = 0; v < kWidth; ++v) {
      row[v] =
          hn::LoadU(kLanes, b + v / kVectors * gemm.b.panel_stride + v % kVectors * kLaneCount);
      if (kGemmRows < 4) HoldInRegister(row[v]);
    }
#pragma GCC unroll 16
    for (int r = 0; r < kGemmRows; ++r) {
      const Vector element = hn::Set(kLanes, rows.At(r, row_stride));
#pragma GCC unroll 16
      for (int v = 0; v < kWidth; ++v) totals[r][v] = hn::MulAdd(element, row[v], totals[r][v]);
    }
    rows.Advance(depth_stride);
    b += gemm.b.row_stride;
    next += gemm.b.row_stride;
  }
  const Vector scale = hn::Set(kLanes, gemm.scale);
  constexpr int kWhole = kWidth - kVectors;  // vectors before the last panel
#pragma GCC unroll 16
  for (int r = 0; r < kGemmRows; ++r) {
    float* const to = c + r * gemm.c_stride;
#pragma GCC unroll 16
    for (int v = 0; v < kWhole; ++v) {
      float* const place = to + v * kLaneCount;
      const Vector base = accumulate ? hn::LoadU(kLanes, place) : hn::Zero(kLanes);
      hn::StoreU(hn::MulAdd(totals[r][v], scale, base), kLanes, place);
    }
  }
#pragma GCC unroll 16
  for (int v = kWhole; v < kWidth; ++v) {
    const int64_t columns = last_columns - (v - kWhole) * kLaneCount;
    if (columns <= 0) break;
    const bool whole = columns >= kLaneCount;
    const auto mask = hn::FirstN(kLanes, static_cast<size_t>(columns));
#pragma GCC unroll 16
    for (int r = 0; r < kGemmRows; ++r) {
      float* const place = c + r * gemm.c_stride + v * kLaneCount;
      if (whole) {
        const Vector base = accumulate ? hn::LoadU(kLanes, place) : hn::Zero(kLanes);
        hn::StoreU(hn::MulAdd(totals[r][v], scale, base), kLanes, place);
      } else {
        const Vector base = accumulate ? hn::MaskedLoad(mask, kLanes, place) : hn::Zero(kLanes);
        hn::BlendedStore(hn::MulAdd(totals[r][v], scale, base), mask, kLanes, place);
      }
    }
  }
}

// kPanels panels of the rows of a block that fill tiles. The first tile has the panels behind it
// fetched, which would else be waited for: above all where several threads read from the third
// cache at once.
template <int kPanels, bool kFetchesRows>
HWY_INLINE void FullTiles(const Gemm& gemm, const Block& block, int64_t full_rows, int64_t column) {
  constexpr Fetch kFirst{.panels = true, .rows = kFetchesRows};
  constexpr Fetch kOthers{.panels = false, .rows = kFetchesRows};
  const bool last = column + kPanels * kPanelWidth >= gemm.columns;
  if (!last || gemm.fetches_beyond) {
    Tile<kMostRows, kPanels, kFirst>(gemm, block, 0, column);
  } else {
    Tile<kMostRows, kPanels, kOthers>(gemm, block, 0, column);
  }
  for (int64_t row = kMostRows; row < full_rows; row += kMostRows) {
    Tile<kMostRows, kPanels, kOthers>(gemm, block, row, column);
  }
}

template <int kPanels>
void FullTiles(const Gemm& gemm, const Block& block, int64_t full_rows, int64_t column) {
  if (gemm.fetches_rows) return FullTiles<kPanels, true>(gemm, block, full_rows, column);
  FullTiles<kPanels, false>(gemm, block, full_rows, column);
}

// kPanels panels of a block from `column` on: the rows that fill tiles, then the kRest behind them,
// which have panels fetched too where there are more than two.
template <int kRest, int kPanels>
void Panels(const Gemm& gemm, const Block& block, int64_t full_rows, int64_t column) {
  constexpr int kWhole = kPanels / kMostPanels * kMostPanels;
  for (int i = 0; i < kWhole && full_rows > 0; i += kMostPanels) {
    FullTiles<kMostPanels>(gemm, block, full_rows, column + i * kPanelWidth);
  }
  for (int i = kWhole; i < kPanels && full_rows > 0; ++i) {
    FullTiles<1>(gemm, block, full_rows, column + i * kPanelWidth);
  }
  if constexpr (kRest > 0) {
    constexpr Fetch kFetch{.panels = kRest > 2};
    Tile<kRest, kPanels, kFetch>(gemm, block, full_rows, column);
  }
}

// Some rows of C, and some of the parts that sums are broken into.
struct RowsAndParts {
  int64_t row = 0;
  int64_t full_rows = 0;  // that fill tiles
  int64_t rest = 0;
  int64_t first_part = 0;
  int64_t end_part = 0;
};

Block BlockOf(const Gemm& gemm, int64_t row, int64_t part) {
  const DepthParts parts{gemm.depth, gemm.depth_step};
  const int64_t from = parts.begin(part);
  return {.from = from,
          .depth = parts.begin(part + 1) - from,
          .a = gemm.a + row * gemm.a_row_stride + from * gemm.a_depth_stride,
          .b = gemm.b.data + from * gemm.b.row_stride,
          .accumulate = gemm.accumulate || from > 0,
          .c = gemm.c + row * gemm.c_stride};
}

// `panels` panels, at most kPanels, from `column` on.
template <int kRest, int kPanels>
void SomePanels(const Gemm& gemm, const RowsAndParts& which, int64_t panels, int64_t column) {
  if constexpr (kPanels > 1) {
    if (panels < kPanels) return SomePanels<kRest, kPanels - 1>(gemm, which, panels, column);
  }
  for (int64_t part = which.first_part; part < which.end_part; ++part) {
    Panels<kRest, kPanels>(gemm, BlockOf(gemm, which.row, part), which.full_rows, column);
  }
}

// All columns of rows whose last `rest`, at most kRest, fill no tile. The last panel does not come
// alone where that can be helped.
template <int kRest = kMostRows - 1>
void Columns(const Gemm& gemm, const RowsAndParts& which) {
  if constexpr (kRest > 0) {
    if (which.rest < kRest) return Columns<kRest - 1>(gemm, which);
  }
  constexpr int kPanels = kRest == 0 ? kMostPanels : PanelsAtOnce(kRest);
  int64_t left = PanelColumns(gemm.columns) / kPanelWidth;
  for (int64_t column = 0; left > 0;) {
    const bool one_over = left == kPanels + 1 && kPanels > 2;
    const int64_t panels = one_over ? kPanels - 1 : std::min<int64_t>(left, kPanels);
    SomePanels<kRest, kPanels>(gemm, which, panels, column);
    column += panels * kPanelWidth;
    left -= panels;
  }
}

// Many rows go through the panels part by part, so that what they read of both stays in the caches.
// A few read every element of the panels once, and do so in the order in which they lie.
void Multiply(const Gemm& gemm) {
  const int64_t parts = DepthParts{gemm.depth, gemm.depth_step}.count();
  for (int64_t row = 0; row < gemm.rows; row += kRowBlock) {
    const int64_t rows = std::min(kRowBlock, gemm.rows - row);
    const int64_t at_once = rows <= kMostRows ? parts : 1;
    for (int64_t part = 0; part < parts; part += at_once) {
      Columns(gemm, {.row = row,
                     .full_rows = rows / kMostRows * kMostRows,
                     .rest = rows % kMostRows,
                     .first_part = part,
                     .end_part = part + at_once});
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
