#include "kernels/cpu/quantization/byte_tiles.h"

#include <algorithm>

#include "kernels/cpu/quantization/tile_registers.h"

namespace plimsoll::kernels::cpu {
namespace {

static_assert(kTileRows == kGroupColumns && kTileQuads * 4 == kTileRowBytes);

constexpr int64_t kTileWords = kTileBytes / 4;
// Two by two tiles of sums use all registers besides two of each operand.
constexpr int64_t kSumRows = 2 * kTileRows;
constexpr int64_t kSumColumns = 2 * kGroupColumns;

// Both operands of a product, from a block of sums on.
struct TileOperands {
  const int32_t* rows = nullptr;
  int64_t row_stride = 0;  // int32 from 16 rows to the next
  const int32_t* groups = nullptr;
  int64_t group_stride = 0;
  int64_t steps = 0;
};

// The sums of one or two tiles of rows and as many of columns.
template <typename Tiles, bool kWeightRows, bool kTwoRows, bool kTwoColumns>
void SumBlock(const TileOperands& operands, int32_t* sums) {
  Tiles tiles;
  tiles.template Clear<0>();
  if constexpr (kTwoColumns) tiles.template Clear<1>();
  if constexpr (kTwoRows) tiles.template Clear<2>();
  if constexpr (kTwoRows && kTwoColumns) tiles.template Clear<3>();
  const int32_t* row = operands.rows;
  const int32_t* group = operands.groups;
  for (int64_t step = 0; step < operands.steps; ++step) {
    tiles.template Load<4>(row, kTileRowBytes);
    tiles.template Load<6>(group, kTileRowBytes);
    tiles.template AddProducts<0, 4, 6, kWeightRows>();
    if constexpr (kTwoColumns) {
      tiles.template Load<7>(group + operands.group_stride, kTileRowBytes);
      tiles.template AddProducts<1, 4, 7, kWeightRows>();
    }
    if constexpr (kTwoRows) {
      tiles.template Load<5>(row + operands.row_stride, kTileRowBytes);
      tiles.template AddProducts<2, 5, 6, kWeightRows>();
      if constexpr (kTwoColumns) tiles.template AddProducts<3, 5, 7, kWeightRows>();
    }
    row += kTileWords;
    group += kTileWords;
  }
  constexpr int64_t kStride = kSumColumns * 4;
  tiles.template Store<0>(sums, kStride);
  if constexpr (kTwoColumns) tiles.template Store<1>(sums + kGroupColumns, kStride);
  int32_t* const below = sums + kTileRows * kSumColumns;
  if constexpr (kTwoRows) tiles.template Store<2>(below, kStride);
  if constexpr (kTwoRows && kTwoColumns) tiles.template Store<3>(below + kGroupColumns, kStride);
}

template <typename Tiles, bool kWeightRows>
void SumBlockOf(int64_t rows, int64_t columns, const TileOperands& operands, int32_t* sums) {
  const bool two_columns = columns > kGroupColumns;
  if (rows > kTileRows) {
    two_columns ? SumBlock<Tiles, kWeightRows, true, true>(operands, sums)
                : SumBlock<Tiles, kWeightRows, true, false>(operands, sums);
  } else {
    two_columns ? SumBlock<Tiles, kWeightRows, false, true>(operands, sums)
                : SumBlock<Tiles, kWeightRows, false, false>(operands, sums);
  }
}

// What is missing of the weights: calls byte(other, depth) for the unsigned byte of the other
// operand's line, of which there are `others`.
template <typename Byte>
void AddTileRests(const QuadWeights& weights, int64_t first, int64_t lines, int64_t others,
                  int64_t line_step, int64_t other_step, const Byte& byte, int32_t* sums) {
  if (weights.first_rest[first] == weights.first_rest[first + lines]) return;
  for (int64_t line = 0; line < lines; ++line) {
    const int32_t end = weights.first_rest[first + line + 1];
    for (int32_t i = weights.first_rest[first + line]; i < end; ++i) {
      const WeightRest rest = weights.rests[i];
      for (int64_t other = 0; other < others; ++other) {
        sums[line * line_step + other * other_step] += rest.value * byte(other, rest.depth);
      }
    }
  }
}

// One block of at most kSumRows x kSumColumns results.
template <typename Tiles, bool kWeightRows>
void MultiplyTileBlock(int64_t row, int64_t rows, int64_t column, int64_t columns,
                       const TileOperands& all, const QuadWeights& weights,
                       const PairFinish& finish) {
  alignas(64) int32_t sums[kSumRows * kSumColumns];
  TileOperands operands = all;
  operands.rows += row / kTileRows * all.row_stride;
  operands.groups += column / kGroupColumns * all.group_stride;
  SumBlockOf<Tiles, kWeightRows>(rows, columns, operands, sums);
  if constexpr (kWeightRows) {
    const auto byte = [&](int64_t other, int64_t depth) {
      const int32_t* const group =
          operands.groups + other / kGroupColumns * all.group_stride + other % kGroupColumns;
      return reinterpret_cast<const uint8_t*>(group + depth / 4 * kGroupColumns)[depth % 4];
    };
    AddTileRests(weights, row, rows, columns, kSumColumns, 1, byte, sums);
  } else {
    const auto byte = [&](int64_t other, int64_t depth) {
      const int32_t* const quad =
          operands.rows + RowTilePlace(other, depth / 4, all.steps * kTileQuads);
      return reinterpret_cast<const uint8_t*>(quad)[depth % 4];
    };
    AddTileRests(weights, column, columns, rows, 1, kSumColumns, byte, sums);
  }
  FinishSums(sums, kSumColumns, rows, columns, finish.At(row, column));
}

// Weights are the larger operand where products take time, so each of them is read once.
template <typename Tiles, bool kWeightRows>
void MultiplyTiles(int64_t rows, int64_t columns, const TileOperands& operands,
                   const QuadWeights& weights, const PairFinish& finish) {
  const int64_t outer_end = kWeightRows ? rows : columns;
  const int64_t inner_end = kWeightRows ? columns : rows;
  constexpr int64_t kStep = kSumRows;
  static_assert(kSumRows == kSumColumns);
  for (int64_t outer = 0; outer < outer_end; outer += kStep) {
    for (int64_t inner = 0; inner < inner_end; inner += kStep) {
      const int64_t row = kWeightRows ? outer : inner;
      const int64_t column = kWeightRows ? inner : outer;
      MultiplyTileBlock<Tiles, kWeightRows>(row, std::min(kStep, rows - row), column,
                                            std::min(kStep, columns - column), operands, weights,
                                            finish);
    }
  }
}

template <bool kWeightRows>
void MultiplyWith(TileUnit unit, int64_t rows, int64_t columns, const TileOperands& operands,
                  const QuadWeights& weights, const PairFinish& finish) {
#if PLIMSOLL_PROCESSOR_TILES
  if (unit == TileUnit::kProcessor) {
    MultiplyTiles<ProcessorTiles, kWeightRows>(rows, columns, operands, weights, finish);
    return;
  }
#endif
  (void)unit;
  MultiplyTiles<EmulatedTiles, kWeightRows>(rows, columns, operands, weights, finish);
}

}  // namespace

void MultiplyTileRows(TileUnit unit, int64_t rows, int64_t columns, int64_t quads,
                      const QuadWeights& weights, const int32_t* groups, const PairFinish& finish) {
  const int64_t whole = WholeTileQuads(quads);
  MultiplyWith<true>(unit, rows, columns,
                     {.rows = weights.quads,
                      .row_stride = whole * kTileRows,
                      .groups = groups,
                      .group_stride = quads * kGroupColumns,
                      .steps = whole / kTileQuads},
                     weights, finish);
}

void MultiplyTileColumns(TileUnit unit, int64_t rows, int64_t columns, int64_t quads,
                         const int32_t* row_tiles, const QuadWeights& weights,
                         const PairFinish& finish) {
  MultiplyWith<false>(unit, rows, columns,
                      {.rows = row_tiles,
                       .row_stride = quads * kTileRows,
                       .groups = weights.quads,
                       .group_stride = quads * kGroupColumns,
                       .steps = quads / kTileQuads},
                      weights, finish);
}

}  // namespace plimsoll::kernels::cpu
