#pragma once

#include <cstdint>

#include "kernels/cpu/quantization/byte_quads.h"
#include "kernels/cpu/quantization/tile_unit.h"

// Products of unsigned bytes with signed ones, bounded weights of QuadSteps::kWide, by tiles. One
// operand is groups of columns of quads (byte_quads.h), 16 quads of which are a tile as they lie;
// the other is rows as tiles: [16 rows][step of 16 quads][row][quad]. The rows' last step is filled
// with zeros where they are weights, so it does not matter what the columns hold there, and the
// other way round. Sums are exact.
namespace plimsoll::kernels::cpu {

inline constexpr int64_t kTileQuads = 16;  // of a step

constexpr int64_t WholeTileQuads(int64_t quads) {
  return (quads + kTileQuads - 1) / kTileQuads * kTileQuads;
}
// Where a quad of a row lies; `quads` are all of a row, in whole steps.
constexpr int64_t RowTilePlace(int64_t row, int64_t quad, int64_t quads) {
  return row / kGroupColumns * kGroupColumns * quads + quad / kTileQuads * kTileQuads * kTileQuads +
         row % kGroupColumns * kTileQuads + quad % kTileQuads;
}
// What is read beyond the last group of columns that ends within a step.
constexpr Bytes TileOverread() { return Bytes((kTileQuads - 1) * kGroupColumns) * 4; }

// Fewer rows of unsigned bytes meet the weights faster without tiles.
inline constexpr int64_t kLeastTileRows = 8;

// rows x columns sums: rows are weights, from a group's first on, columns are unsigned; a group of
// columns every `quads` * kGroupColumns int32. Within a TileShare of the same unit.
void MultiplyTileRows(TileUnit unit, int64_t rows, int64_t columns, int64_t quads,
                      const QuadWeights& weights, const int32_t* groups, const PairFinish& finish);

// rows x columns sums: columns are weights, from a group's first on, rows are unsigned; `quads` are
// in whole steps. Within a TileShare of the same unit.
void MultiplyTileColumns(TileUnit unit, int64_t rows, int64_t columns, int64_t quads,
                         const int32_t* row_tiles, const QuadWeights& weights,
                         const PairFinish& finish);

}  // namespace plimsoll::kernels::cpu
