#include "kernels/cpu/product/product_shares.h"

#include <algorithm>

#include "kernels/cpu/product/gemm.h"
#include "kernels/cpu/product/panel_product.h"

namespace plimsoll::kernels::cpu {

ProductShares SharesOfProduct(int64_t tile_rows, int64_t tile_columns, int64_t most, bool by_rows) {
  if (by_rows) {
    const ProductShares turned = SharesOfProduct(tile_columns, tile_rows, most);
    return {.rows = turned.columns, .columns = turned.rows};
  }
  const auto largest = [&](const ProductShares& shares) {
    return ((tile_rows + shares.rows - 1) / shares.rows) *
           ((tile_columns + shares.columns - 1) / shares.columns);
  };
  ProductShares best{.columns = std::clamp<int64_t>(most, 1, tile_columns)};
  int64_t least = largest(best);
  for (int64_t rows = 2; rows <= std::min(most, tile_rows); ++rows) {
    const ProductShares shares{.rows = rows, .columns = std::min(most / rows, tile_columns)};
    const int64_t size = largest(shares);
    if (size >= least) continue;
    best = shares;
    least = size;
  }
  return best;
}

ProductTiles TilesOfProduct(int64_t rows, int64_t columns) {
  const GemmTile tile = GemmTileHere();
  const int64_t width = tile.panels * kPanelWidth;
  return {.rows = (rows + tile.rows - 1) / tile.rows, .columns = (columns + width - 1) / width};
}

ProductBlock BlockOfShare(const ProductShares& shares, int64_t rows, int64_t columns,
                          int64_t number) {
  const GemmTile tile = GemmTileHere();
  const ProductTiles tiles = TilesOfProduct(rows, columns);
  const auto row_of = [&](int64_t down) {
    return std::min(tiles.rows * down / shares.rows * tile.rows, rows);
  };
  const auto column_of = [&](int64_t across) {
    return std::min(tiles.columns * across / shares.columns * tile.panels * kPanelWidth, columns);
  };
  const int64_t down = number / shares.columns;
  const int64_t across = number % shares.columns;
  return {.first_row = row_of(down),
          .rows = row_of(down + 1) - row_of(down),
          .first_column = column_of(across),
          .columns = column_of(across + 1) - column_of(across)};
}

ProductBlock PieceOfBlock(const ProductBlock& block, int64_t pieces, int64_t number) {
  const GemmTile tile = GemmTileHere();
  const ProductTiles tiles = TilesOfProduct(block.rows, block.columns);
  const bool by_rows = tiles.rows > tiles.columns;
  const auto place = [&](int64_t index) {
    if (by_rows) return std::min(tiles.rows * index / pieces * tile.rows, block.rows);
    return std::min(tiles.columns * index / pieces * tile.panels * kPanelWidth, block.columns);
  };
  const int64_t first = place(number);
  const int64_t size = place(number + 1) - first;
  ProductBlock piece = block;
  (by_rows ? piece.first_row : piece.first_column) += first;
  (by_rows ? piece.rows : piece.columns) = size;
  return piece;
}

}  // namespace plimsoll::kernels::cpu
