#include "kernels/cpu/product/product_shares.h"

#include <algorithm>

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

}  // namespace plimsoll::kernels::cpu
