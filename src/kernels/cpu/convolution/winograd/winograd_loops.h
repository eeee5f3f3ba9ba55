#pragma once

#include <cstdint>

namespace plimsoll::kernels::cpu {

// Winograd's convolutions F(m x m, 3 x 3): m x m results of a 3 x 3 window come of (m + 2)^2
// products instead of 9 m^2. What is below m x m results is a tile; its linear transform has a
// number at each of (m + 2)^2 positions.
inline constexpr int64_t kWinogradTaps = 3;
inline constexpr int64_t kMostWinogradResults = 4;  // m is 2 or 4
inline constexpr int64_t kMostWinogradInputs = kMostWinogradResults + kWinogradTaps - 1;
inline constexpr int64_t kWinogradFilters = 16;  // of a panel of weights

// Transformed tiles times transformed weights, at every position.
struct WinogradProduct {
  const float* tiles = nullptr;  // [position][channel block][tile][block]
  int64_t tile_count = 0;
  int64_t block = 0;  // 8 or 16
  int64_t channel_blocks = 0;
  int64_t block_stride = 0;        // of `tiles`, from one block of channels to the next
  int64_t position_stride = 0;     // of `tiles`
  const float* weights = nullptr;  // [panel][position][channel][kWinogradFilters]
  int64_t panels = 1;              // at most WinogradLoops::panels_at_once
  float* sums = nullptr;           // [panel][position][tile][kWinogradFilters]
  int64_t sums_stride = 0;         // from one position to the next
};

// The results of a tile for `lanes` filters, 8 or 16.
struct WinogradResult {
  const float* sums = nullptr;  // of the tile's first filter at the first position
  int64_t sums_stride = 0;
  int64_t lanes = 0;
  const float* bias = nullptr;  // `lanes` numbers, or null
  int64_t rows = 0;             // of results that are wanted, at most m
  int64_t columns = 0;
  const float* residual = nullptr;  // or null
  int64_t residual_row_stride = 0;
  int64_t residual_column_stride = 0;
  float* to = nullptr;  // may be the residual
  int64_t row_stride = 0;
  int64_t column_stride = 0;
  float least = 0;  // results are brought between these two
  float greatest = 0;
};

// The vector loops of one m, with the widest vectors of the machine.
struct WinogradLoops {
  int64_t tiles_at_once;  // products are fastest with multiples of it
  int64_t panels_at_once;
  // The tile at `from`, element (y, x) of `block` channels at y * row_stride + x * column_stride;
  // position p goes to p * to_stride.
  void (*transform_tile)(const float* from, int64_t row_stride, int64_t column_stride,
                         int64_t block, float* to, int64_t to_stride);
  void (*multiply)(const WinogradProduct& product);
  // False, with nothing written, where a sum is not finite or nearly so.
  bool (*transform_result)(const WinogradResult& result);
};

const WinogradLoops& WinogradLoopsFor(int64_t results);

}  // namespace plimsoll::kernels::cpu
