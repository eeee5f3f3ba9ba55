#pragma once

#include <array>
#include <cstdint>

#include "kernels/cpu/quantization/byte_pairs.h"

// Sums over what a window of one channel sees, for rows of results at a time.
namespace plimsoll::kernels::cpu {

// Which bytes, of 16 of a line that begin with the first of four columns, are the taps of a quad of
// each.
using TapOrder = std::array<uint8_t, 16>;
TapOrder TapOrderOf(int64_t stride, int64_t tap_step);

// Element x of row r is the sum over quads q and taps t of a quad of
//   weights[q].byte(t) * lines[r * line_step + offsets[q] + x * stride + t * (step of taps)],
// where bytes of lines are unsigned, those of weights signed, and neighbours of a quad of weights
// are bounded (bounded_weights.h). All rows are row 0 of the finish, which goes
// by rows, and lie `result_step` elements
// apart. Reads up to kTapSlack + kGroupColumns * stride bytes beyond a row's last.
struct TapRows {
  const uint8_t* lines = nullptr;
  int64_t line_step = 0;
  const int64_t* offsets = nullptr;
  const int32_t* weights = nullptr;
  int64_t quads = 0;
  int64_t stride = 1;
  const TapOrder* order = nullptr;
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t result_step = 0;
};
inline constexpr int64_t kTapSlack = 16;

// How many taps, so far apart, a quad can have; 0: none, columns are too far apart.
constexpr int64_t TapsOfQuad(int64_t stride, int64_t tap_step) {
  if (3 * stride > 15) return 0;
  const int64_t most = 1 + (15 - 3 * stride) / tap_step;
  return most < 4 ? most : 4;
}

void SumTaps(const TapRows& rows, const PairFinish& finish);

}  // namespace plimsoll::kernels::cpu
