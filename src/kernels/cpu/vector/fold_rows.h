#pragma once

#include <cstdint>

// Elements folded into one, or rows into a row of totals, over the widest vectors that the machine
// has. Whole numbers wrap around; NaN is the largest and the smallest. Nothing is allocated; rows
// may be empty and need no alignment.
namespace plimsoll::kernels::cpu {

enum class RowFold { kSum, kProduct, kMax, kMin, kMagnitudes, kSquares };

// Of whole numbers in any order; float_rows.h has those of floats. An empty row gives 0, 1 for a
// product, and the type's own limit for an extreme.
int32_t FoldRow(RowFold fold, const int32_t* x, int64_t count);
int64_t FoldRow(RowFold fold, const int64_t* x, int64_t count);

// `rows` rows of `count` elements, `stride` apart, into `totals`, one row after the other.
void FoldRowsInto(RowFold fold, const float* x, int64_t stride, int64_t rows, int64_t count,
                  float* totals);
void FoldRowsInto(RowFold fold, const int32_t* x, int64_t stride, int64_t rows, int64_t count,
                  int32_t* totals);
void FoldRowsInto(RowFold fold, const int64_t* x, int64_t stride, int64_t rows, int64_t count,
                  int64_t* totals);

}  // namespace plimsoll::kernels::cpu
