#pragma once

#include <cstdint>

namespace plimsoll::kernels::cpu {

// Products of matrices that fit into the caches, of rows of A with B in panels: a panel holds 16
// columns of B, all of a row's together, row after row. The last panel is filled up with zeros.
// Nothing is allocated.
inline constexpr int64_t kPanelWidth = 16;

constexpr int64_t PanelColumns(int64_t columns) {
  return (columns + kPanelWidth - 1) / kPanelWidth * kPanelWidth;
}

// How many elements the panels of a depth x columns matrix take.
constexpr int64_t PanelElements(int64_t depth, int64_t columns) {
  return depth * PanelColumns(columns);
}

// Where element (0, column) lies in the panels; (d, column) lies d * kPanelWidth behind it.
constexpr int64_t PanelOffset(int64_t depth, int64_t column) {
  return column / kPanelWidth * kPanelWidth * depth + column % kPanelWidth;
}

// Element (d, c) of B, for `rows` rows from `first_row` and `columns` columns from `first_column`,
// is b[(d - first_row) * row_stride + (c - first_column) * column_stride]. The columns behind the
// last one, up to the panel's end, become zero.
void PackPanels(const float* b, int64_t row_stride, int64_t column_stride, int64_t first_row,
                int64_t rows, int64_t first_column, int64_t columns, int64_t depth, float* panels);
// The same of halves, as bits.
void PackPanels(const uint16_t* b, int64_t row_stride, int64_t column_stride, int64_t first_row,
                int64_t rows, int64_t first_column, int64_t columns, int64_t depth,
                uint16_t* panels);

// c = factor * (a * B): `rows` rows of A, `stride_a` apart, and as many of C, `stride_c` apart, of
// which `columns` are written. Only the first `used` of B's `depth` rows take part.
void MultiplyPanels(int64_t rows, int64_t columns, int64_t used, const float* a, int64_t stride_a,
                    const float* panels, int64_t depth, float factor, float* c, int64_t stride_c);
void MultiplyPanels(int64_t rows, int64_t columns, int64_t used, const double* a, int64_t stride_a,
                    const double* panels, int64_t depth, double factor, double* c,
                    int64_t stride_c);

}  // namespace plimsoll::kernels::cpu
