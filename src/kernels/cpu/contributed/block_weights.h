#pragma once

#include <cstdint>

// Loops over weights of 2, 4 or 8 bits in blocks of at least 8 bytes, each with a scale and a zero
// point, as MatMulNBits has them: a column of the product is a row of blocks, low bits first.
namespace plimsoll::kernels::cpu {

struct BlockWeights {
  int bits = 4;
  int64_t depth = 0;  // padded to whole blocks
  int64_t block = 0;  // elements
  int64_t blocks = 0;
  const uint8_t* packed = nullptr;     // of one column: blocks * block * bits / 8 bytes
  const float* scales = nullptr;       // of one column
  const float* zero_points = nullptr;  // likewise
};

// How many rows DotRows takes at once.
inline constexpr int64_t kDotRows = 4;

// Rows of A in the order in which DotRows meets the elements of packed bytes, `weights.depth`
// floats a row with zeros behind the first `count`, and the sum of each block of each row.
void ArrangeRow(const BlockWeights& weights, const float* row, int64_t count, float* arranged,
                float* sums);

// Products of one column with `rows` (at most kDotRows) arranged rows, to[row * stride].
void DotRows(const BlockWeights& weights, int64_t rows, const float* arranged, const float* sums,
             float* to, int64_t stride);

// A column as floats, all `weights.depth`, in the order of the depth.
void UnpackColumn(const BlockWeights& weights, float* to);

}  // namespace plimsoll::kernels::cpu
