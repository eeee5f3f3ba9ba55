#pragma once

#include <cstdint>

#include "kernels/cpu/quantization/byte_pairs.h"
#include "plimsoll/base/bytes.h"

// Products of unsigned bytes with bounded weights (bounded_weights.h) over vectors. Four bytes that
// follow each other along the depth are a quad (one int32). An instruction multiplies quads and
// adds the products of neighbours in 16 bits, where bounded weights keep them; what bounding took
// from a weight is added afterwards. Every sum is exact.
//
// Zero points of the unsigned operand are for the caller: zero * (sum of a row's or column's
// weights) comes off each sum, by the finish's bias.
namespace plimsoll::kernels::cpu {

constexpr int64_t QuadsOf(int64_t depth) { return (depth + 3) / 4; }
constexpr Bytes GroupQuadBytes(int64_t columns, int64_t quads) {
  return Bytes(ColumnGroups(columns) * kGroupColumns * quads) * 4;
}

// The most that positive weights, and the least (negated) that negative ones, add up to where 16
// bits add up their products with unsigned bytes.
inline constexpr int32_t kMostOfPair = 128;

// What is missing of a bounded weight.
struct WeightRest {
  uint16_t depth = 0;
  int16_t value = 0;
};

// How many quads' products 16 bits add up: neighbours of a quad, and those of the quad behind it.
// kWide: none, 32 bits add up all, so that every signed byte is bounded.
enum class QuadSteps { kOne, kTwo, kWide };

// The processor has an instruction (AVX-512's VNNI) for weights that are bounded for kWide.
bool SumsQuadsWide();

// Bounded weights, as rows [row][quad] or as groups of columns [group of kGroupColumns][quad]
// [column], and their rests: those of row or column i are rests[first_rest[i], first_rest[i + 1]).
struct QuadWeights {
  QuadSteps steps = QuadSteps::kOne;  // columns take one, or kWide
  const int32_t* quads = nullptr;
  const int32_t* first_rest = nullptr;
  const WeightRest* rests = nullptr;
};

// The first of elements [from, count) that may be among those that are not bounded, else `count`.
// Elements are of one line in the order of the depth. Reads up to 16 elements beyond, of 0.
int64_t FirstUnbounded(const int16_t* elements, int64_t from, int64_t count, QuadSteps steps);

// `count` columns of four rows of bytes that follow each other along the depth, each byte xor
// `flip`; a group of columns every `group_stride` int32. A row that is null is of zeros. Columns of
// the last group beyond `count` are `beyond` xor `flip`.
void QuadRows(const uint8_t* const (&rows)[4], int64_t count, uint8_t flip, uint8_t beyond,
              int32_t* quads, int64_t group_stride);

// The same of all `channels` rows, one every `stride` bytes: [group of columns][quad][column].
void QuadPlanes(const uint8_t* rows, int64_t stride, int64_t channels, int64_t count, uint8_t flip,
                uint8_t beyond, int32_t* quads);

// bias - factor * sums of `count` columns; a bias that is null is 0.
void LessSums(const int32_t* bias, const int32_t* sums, int64_t count, int32_t factor,
              int32_t* biases);

// Every second of `count` words, and the others.
void SplitWords(const int32_t* words, int64_t count, int32_t* even, int32_t* odd);

// rows x columns sums: rows are weights, from the first on, columns are unsigned.
void MultiplyQuadRows(int64_t rows, int64_t columns, int64_t quads, const QuadWeights& weights,
                      const int32_t* groups, const PairFinish& finish);

// rows x columns sums: columns are weights, from a group's first on, rows are unsigned, one every
// `quads` int32.
void MultiplyQuadColumns(int64_t rows, int64_t columns, int64_t quads, const int32_t* row_quads,
                         const QuadWeights& weights, const PairFinish& finish);

}  // namespace plimsoll::kernels::cpu
