#include "kernels/cpu/product/product_shares.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "kernels/cpu/product/gemm.h"
#include "kernels/cpu/product/panel_product.h"

namespace plimsoll::kernels::cpu {

ProductShares SharesOfProduct(int64_t tile_rows, int64_t tile_columns, int64_t most) {
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

ProductGrid GridOfProduct(const ProductTiles& tiles, int64_t threads, int64_t least, int64_t most,
                          bool by_rows) {
  const int64_t outer = by_rows ? tiles.rows : tiles.columns;
  const int64_t inner = by_rows ? tiles.columns : tiles.rows;
  const auto up = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
  // Tiles that the longest run of pieces has at most.
  const auto longest = [&](const ProductShares& of) {
    return up(of.rows * of.columns, threads) * up(outer, of.rows) * up(inner, of.columns);
  };
  // Beside runs of equally many tiles. Tiles below each other in one piece find panels of B in the
  // first cache, and take up to an eighth less time than pieces of one tile.
  constexpr double kEven = 1.1;
  const auto enough = static_cast<int64_t>(kEven * static_cast<double>(outer * inner) /
                                           static_cast<double>(threads));
  ProductShares best;
  int64_t fewest = std::numeric_limits<int64_t>::max();
  for (int64_t size = std::max<int64_t>(most, 1); size >= std::max<int64_t>(least, 1); size /= 2) {
    const int64_t along = up(inner, size);
    const int64_t across = up(outer, std::max<int64_t>(size / inner, 1));
    const int64_t step = threads / std::gcd(along, threads);
    const ProductShares pieces{.rows = std::min(up(across, step) * step, outer), .columns = along};
    if (longest(pieces) >= fewest) continue;
    best = pieces;
    fewest = longest(pieces);
    if (fewest <= enough) break;
  }
  const ProductShares shares = SharesOfProduct(outer, inner, threads);
  if (fewest > enough && longest(shares) < fewest) best = shares;
  if (by_rows) return {.cuts = best, .by_rows = true};
  return {.cuts = {.rows = best.columns, .columns = best.rows}, .by_rows = false};
}

ProductBlock BlockOfPiece(const ProductGrid& grid, int64_t rows, int64_t columns, int64_t number) {
  if (grid.by_rows) return BlockOfShare(grid.cuts, rows, columns, number);
  const int64_t across = number / grid.cuts.rows;
  const int64_t down = number % grid.cuts.rows;
  return BlockOfShare(grid.cuts, rows, columns, down * grid.cuts.columns + across);
}

}  // namespace plimsoll::kernels::cpu
