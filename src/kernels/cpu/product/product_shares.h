#pragma once

#include <cstdint>

namespace plimsoll::kernels::cpu {

// How threads share out a matrix of results: each takes a rectangle of it.
struct ProductShares {
  int64_t rows = 1;
  int64_t columns = 1;
};

// For a matrix of so many tiles, at most `most` shares: those whose largest is smallest. Where
// columns alone do as well, rows stay whole, so that each part of B is read by one thread.
ProductShares SharesOfProduct(int64_t tile_rows, int64_t tile_columns, int64_t most);

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

// Pieces that a matrix of results is cut into, of which threads take runs that follow each other.
// Those below each other come first, and read the same columns of B; `by_rows`, those beside each
// other, which read the same rows of A.
struct ProductGrid {
  ProductShares cuts;
  bool by_rows = false;

  int64_t pieces() const { return cuts.rows * cuts.columns; }
};

// For a matrix of so many tiles: pieces of at most `most` tiles, smaller ones, but not below
// `least`, where runs of as many pieces for each thread would be uneven, and as many shares as
// threads where that is more even than any pieces are.
ProductGrid GridOfProduct(const ProductTiles& tiles, int64_t threads, int64_t least, int64_t most,
                          bool by_rows);

ProductBlock BlockOfPiece(const ProductGrid& grid, int64_t rows, int64_t columns, int64_t number);

}  // namespace plimsoll::kernels::cpu
