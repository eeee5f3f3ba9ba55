#pragma once

#include <cstdint>

namespace plimsoll::kernels::cpu {

// How threads share out a matrix of results: each takes a rectangle of it.
struct ProductShares {
  int64_t rows = 1;
  int64_t columns = 1;
};

// For a matrix of so many tiles, at most `most` shares: those whose largest is smallest. Where
// columns alone do as well, rows stay whole, so that each part of B is read by one thread; or where
// rows alone do and `by_rows`, columns stay whole, and so does what each thread reads of A.
ProductShares SharesOfProduct(int64_t tile_rows, int64_t tile_columns, int64_t most,
                              bool by_rows = false);

// A rectangle of a matrix of results.
struct ProductBlock {
  int64_t first_row = 0;
  int64_t rows = 0;
  int64_t first_column = 0;  // a multiple of kPanelWidth
  int64_t columns = 0;
};

// The tiles of the machine (GemmTileHere) that a matrix is made of.
struct ProductTiles {
  int64_t rows = 0;
  int64_t columns = 0;
};
ProductTiles TilesOfProduct(int64_t rows, int64_t columns);

// The rectangle that is share `number`, from 0 on, of a matrix of that size; whole tiles but at the
// matrix's end.
ProductBlock BlockOfShare(const ProductShares& shares, int64_t rows, int64_t columns,
                          int64_t number);

// The rectangle that is piece `number` of `pieces` of a block, along the side of more tiles. Empty
// where there are fewer tiles than pieces.
ProductBlock PieceOfBlock(const ProductBlock& block, int64_t pieces, int64_t number);

}  // namespace plimsoll::kernels::cpu
