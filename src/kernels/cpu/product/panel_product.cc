#include "kernels/cpu/product/panel_product.h"

#include <algorithm>
#include <cstring>

#include "kernels/cpu/movement/matrix_transpose.h"
#include "kernels/cpu/vector/hot_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/product/panel_product.cc"
// clang-format off: the order matters
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// clang-format on
#include "kernels/cpu/vector/registers-inl.h"

HWY_BEFORE_NAMESPACE();
namespace plimsoll::kernels::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

constexpr hn::CappedTag<float, kPanelWidth> kLanes;
constexpr int kVectors = static_cast<int>(kPanelWidth / hn::MaxLanes(kLanes));
constexpr auto kLaneCount = static_cast<int64_t>(hn::MaxLanes(kLanes));
// As many totals as registers hold, with panel rows and one element of A in the others: vectors as
// wide as a panel come with 32 registers, else there are 16.
constexpr int kMostPanels = kVectors == 1 ? 2 : 1;
constexpr int kMostRows = 12 / kVectors > 0 ? 12 / kVectors : 1;

// What all tiles of a product share.
struct PanelProduct {
  int64_t used;  // of B's depth
  int64_t depth;
  int64_t stride_a;
  int64_t stride_c;
  float factor;
};

// kUsed: vectors that have columns, of one panel or of several whole ones and a last.
template <int kPanelProductRows, int kUsed>
HWY_INLINE void Tile(const PanelProduct& product, const float* a, const float* panel,
                     int64_t columns, float* c) {
  using Vector = hn::Vec<decltype(kLanes)>;
  const int64_t stride_a = product.stride_a;
  const int64_t panel_stride = product.depth * kPanelWidth;
  Vector totals[kPanelProductRows][kUsed];
#pragma GCC unroll 12
  for (int r = 0; r < kPanelProductRows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kUsed; ++v) totals[r][v] = hn::Zero(kLanes);
  }
  RowPointers<kPanelProductRows> rows(a, stride_a);
  for (int64_t d = 0; d < product.used; ++d) {
    Vector row[kUsed];
#pragma GCC unroll 4
    for (int v = 0; v < kUsed; ++v) {
      row[v] = hn::LoadU(kLanes, panel + v / kVectors * panel_stride + v % kVectors * kLaneCount);
      if (kPanelProductRows < 4) HoldInRegister(row[v]);
    }
#pragma GCC unroll 12
    for (int r = 0; r < kPanelProductRows; ++r) {
      const Vector element = hn::Set(kLanes, rows.At(r, stride_a));
#pragma GCC unroll 4
      for (int v = 0; v < kUsed; ++v) {
        totals[r][v] = hn::MulAdd(element, row[v], totals[r][v]);
      }
    }
    rows.Advance(1);
    panel += kPanelWidth;
  }
  const Vector times = hn::Set(kLanes, product.factor);
#pragma GCC unroll 12
  for (int r = 0; r < kPanelProductRows; ++r) {
    HWY_ALIGN float part[kUsed * kLaneCount];
    const bool whole = columns >= kUsed * kLaneCount;
    float* to = whole ? c + r * product.stride_c : part;
#pragma GCC unroll 4
    for (int v = 0; v < kUsed; ++v) {
      hn::StoreU(hn::Mul(totals[r][v], times), kLanes, to + v * kLaneCount);
    }
    if (!whole) std::copy_n(part, columns, c + r * product.stride_c);
  }
}

// A tile of `rows` rows, at most kPanelProductRows.
template <int kPanelProductRows, int kUsed>
HWY_INLINE void TileOf(int64_t rows, const PanelProduct& product, const float* a,
                       const float* panel, int64_t columns, float* c) {
  if constexpr (kPanelProductRows > 1) {
    if (rows < kPanelProductRows) {
      TileOf<kPanelProductRows - 1, kUsed>(rows, product, a, panel, columns, c);
      return;
    }
  }
  Tile<kPanelProductRows, kUsed>(product, a, panel, columns, c);
}

template <int kUsed>
void MultiplyPanel(int64_t rows, const PanelProduct& product, const float* a, const float* panel,
                   int64_t columns, float* c) {
  int64_t row = 0;
  for (; row + kMostRows <= rows; row += kMostRows) {
    Tile<kMostRows, kUsed>(product, a + row * product.stride_a, panel, columns,
                           c + row * product.stride_c);
  }
  if (row < rows) {
    TileOf<kMostRows, kUsed>(rows - row, product, a + row * product.stride_a, panel, columns,
                             c + row * product.stride_c);
  }
}

void Multiply(int64_t rows, int64_t columns, int64_t used, const float* a, int64_t stride_a,
              const float* panels, int64_t depth, float factor, float* c, int64_t stride_c) {
  const PanelProduct product{used, depth, stride_a, stride_c, factor};
  int64_t column = 0;
  if constexpr (kMostPanels > 1) {
    constexpr int64_t kColumns = kMostPanels * kPanelWidth;
    for (; column + kColumns - kPanelWidth < columns; column += kColumns) {
      MultiplyPanel<kMostPanels * kVectors>(rows, product, a, panels + column * depth,
                                            std::min(kColumns, columns - column), c + column);
    }
  }
  for (; column < columns; column += kPanelWidth) {
    const int64_t some = std::min(kPanelWidth, columns - column);
    const bool narrow = some <= kLaneCount;
    (narrow ? MultiplyPanel<1> : MultiplyPanel<kVectors>)(rows, product, a, panels + column * depth,
                                                          some, c + column);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace plimsoll::kernels::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plimsoll::kernels::cpu {

HWY_EXPORT(Multiply);

void MultiplyPanels(int64_t rows, int64_t columns, int64_t used, const float* a, int64_t stride_a,
                    const float* panels, int64_t depth, float factor, float* c, int64_t stride_c) {
  HWY_DYNAMIC_DISPATCH(Multiply)
  (rows, columns, used, a, stride_a, panels, depth, factor, c, stride_c);
}

void MultiplyPanels(int64_t rows, int64_t columns, int64_t used, const double* a, int64_t stride_a,
                    const double* panels, int64_t depth, double factor, double* c,
                    int64_t stride_c) {
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t column = 0; column < columns; ++column) {
      const double* panel = panels + PanelOffset(depth, column);
      double total = 0;
      for (int64_t d = 0; d < used; ++d) total += a[row * stride_a + d] * panel[d * kPanelWidth];
      c[row * stride_c + column] = factor * total;
    }
  }
}

namespace {

template <typename Element>
void PackPanelsOf(const Element* b, int64_t row_stride, int64_t column_stride, int64_t first_row,
                  int64_t rows, int64_t first_column, int64_t columns, int64_t depth,
                  Element* panels) {
  const int64_t end = first_column + columns;
  for (int64_t column = first_column; column < end;) {
    const int64_t width = std::min(kPanelWidth - column % kPanelWidth, end - column);
    const Element* from = b + (column - first_column) * column_stride;
    Element* to = panels + PanelOffset(depth, column) + first_row * kPanelWidth;
    if (sizeof(Element) == sizeof(uint32_t) && row_stride == 1) {
      TransposeWords(reinterpret_cast<const uint32_t*>(from), column_stride,
                     reinterpret_cast<uint32_t*>(to), kPanelWidth, rows, width);
    } else if (column_stride == 1 && width == kPanelWidth) {
      for (int64_t d = 0; d < rows; ++d) {
        std::memcpy(to + d * kPanelWidth, from + d * row_stride, kPanelWidth * sizeof(Element));
      }
    } else {
      for (int64_t d = 0; d < rows; ++d) {
        for (int64_t c = 0; c < width; ++c) {
          MoveElement(from + d * row_stride + c * column_stride, to + d * kPanelWidth + c);
        }
      }
    }
    column += width;
  }
  const int64_t unused = PanelColumns(end) - end;
  for (int64_t d = first_row; unused > 0 && d < first_row + rows; ++d) {
    std::fill_n(panels + PanelOffset(depth, end) + d * kPanelWidth, unused, Element(0));
  }
}

}  // namespace

void PackPanels(const float* b, int64_t row_stride, int64_t column_stride, int64_t first_row,
                int64_t rows, int64_t first_column, int64_t columns, int64_t depth, float* panels) {
  PackPanelsOf(b, row_stride, column_stride, first_row, rows, first_column, columns, depth, panels);
}

void PackPanels(const uint16_t* b, int64_t row_stride, int64_t column_stride, int64_t first_row,
                int64_t rows, int64_t first_column, int64_t columns, int64_t depth,
                uint16_t* panels) {
  PackPanelsOf(b, row_stride, column_stride, first_row, rows, first_column, columns, depth, panels);
}

}  // namespace plimsoll::kernels::cpu
#endif  // HWY_ONCE
