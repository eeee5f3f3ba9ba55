#pragma once

#include <cstdint>

#include "plimsoll/base/bytes.h"

// Products of 8-bit integers over vectors. Each element less its zero point is a 16-bit number, two
// that follow each other along the depth are a pair (one int32), and an instruction multiplies
// pairs and adds both products: every sum is exact.
//
// One operand is rows of pairs, [row][pair], of which one pair at a time meets many columns; the
// other is groups of columns, [group of kGroupColumns][pair][column].
namespace plimsoll::kernels::cpu {

inline constexpr int64_t kGroupColumns = 16;

constexpr int64_t PairsOf(int64_t depth) { return (depth + 1) / 2; }
constexpr int64_t ColumnGroups(int64_t columns) {
  return (columns + kGroupColumns - 1) / kGroupColumns;
}
// Of rows, or of columns, as pairs.
constexpr Bytes RowPairBytes(int64_t rows, int64_t depth) {
  return Bytes(rows * PairsOf(depth)) * 4;
}
constexpr Bytes GroupPairBytes(int64_t columns, int64_t depth) {
  return Bytes(ColumnGroups(columns) * kGroupColumns * PairsOf(depth)) * 4;
}

// What becomes of the sums: themselves, or times a scale and rounded to bytes, or floats.
struct PairFinish {
  enum class Kind { kInt32, kFloat32, kUint8, kInt8 };

  Kind kind = Kind::kInt32;
  void* to = nullptr;       // of row 0, column 0
  int64_t row_stride = 0;   // elements
  bool by_columns = false;  // scales and biases are one a column, else one a row
  int64_t scale_step = 1;   // 0: one scale for all
  const float* scales = nullptr;
  // What each scale lacks since it is a float: sums become the bytes that are nearest in real
  // numbers. Null: products of sums and scales are rounded to floats first, as in ONNX Runtime.
  const float* scale_rests = nullptr;
  const int32_t* bias = nullptr;  // added to the sums; null: none
  const float* addend = nullptr;  // added to floats; null: none
  int32_t zero_point = 0;         // of bytes

  // For the block of results that begins there.
  PairFinish At(int64_t row, int64_t column) const {
    PairFinish part = *this;
    const int64_t size = kind == Kind::kInt32 || kind == Kind::kFloat32 ? 4 : 1;
    part.to = static_cast<char*>(to) + (row * row_stride + column) * size;
    const int64_t place = by_columns ? column : row;
    if (scales != nullptr) part.scales += place * scale_step;
    if (scale_rests != nullptr) part.scale_rests += place * scale_step;
    if (bias != nullptr) part.bias += place;
    if (addend != nullptr) part.addend += place;
    return part;
  }
};

// Elements [0, count) of one row, each less `zero`, as pairs. An odd end is filled with 0.
void WidenRow(const uint8_t* from, int64_t count, int32_t zero, int32_t* pairs);
void WidenRow(const int8_t* from, int64_t count, int32_t zero, int32_t* pairs);

// `count` columns of two rows that follow each other along the depth, each less its zero; a group
// of columns every `group_stride` int32. `second` null: zeros. Columns of the last group beyond
// `count` are 0.
void PairRows(const uint8_t* first, const uint8_t* second, int64_t count, int32_t zero,
              int32_t* pairs, int64_t group_stride);
void PairRows(const int8_t* first, const int8_t* second, int64_t count, int32_t zero,
              int32_t* pairs, int64_t group_stride);

// rows x columns sums over `pairs` pairs. `row_pairs`: a row every `row_stride` int32; `groups`: as
// above.
void MultiplyPairs(int64_t rows, int64_t columns, int64_t pairs, const int32_t* row_pairs,
                   int64_t row_stride, const int32_t* groups, const PairFinish& finish);

// The sum of the products of a row of pairs with `count` bytes, each less its zero.
int32_t DotPairs(const int32_t* row_pairs, const uint8_t* bytes, int64_t count, int32_t zero);
int32_t DotPairs(const int32_t* row_pairs, const int8_t* bytes, int64_t count, int32_t zero);

// Finishes sums that are there already, a row of them every `stride`.
void FinishSums(const int32_t* sums, int64_t stride, int64_t rows, int64_t columns,
                const PairFinish& finish);

}  // namespace plimsoll::kernels::cpu
