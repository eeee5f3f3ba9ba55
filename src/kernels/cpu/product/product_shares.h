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

}  // namespace plimsoll::kernels::cpu
