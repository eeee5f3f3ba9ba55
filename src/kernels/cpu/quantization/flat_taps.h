#pragma once

#include <cstdint>

#include "kernels/cpu/quantization/byte_pairs.h"
#include "kernels/cpu/quantization/byte_taps.h"

// Sums over what a window of one channel sees, for a whole map at a time, on processors with
// AVX-512's VNNI and VBMI2.
namespace plimsoll::kernels::cpu {

// Whether the processor can, and a vector of bytes holds the taps of four columns so far apart.
bool SumsFlatTaps(int64_t stride, int64_t tap_step);

inline constexpr int64_t kFlatColumns = 64;  // at once
// How far beyond the taps of the last column a map is read, and beyond a line written.
inline constexpr int64_t kFlatSlack = 5 * kFlatColumns;

// Lines of bytes, each xor `flip`, one every `step` bytes, between `before` bytes of padding and
// what fills `pitch`; lines of padding above and below them. Behind the last `before` bytes are
// padding too, and up to kFlatColumns more are written.
struct PaddedLines {
  const uint8_t* from = nullptr;
  int64_t step = 0;
  int64_t width = 0;
  int64_t before = 0;
  int64_t pitch = 0;
  int64_t above = 0;
  int64_t count = 0;
  int64_t below = 0;
  uint8_t flip = 0;
  uint8_t padding = 0;
};
void CopyPaddedLines(const PaddedLines& lines, uint8_t* to);

// Column f of a map whose lines follow each other is the sum over quads q and taps t of a quad of
//   weights[q].byte(t) * map[offsets[q] + f * stride + t * (step of taps)],
// where bytes of the map are unsigned and those of weights signed. The first `results` columns
// whose bit of `kept` is set, 64 a number, follow each other as row 0 of a finish of bytes.
struct FlatTaps {
  const uint8_t* map = nullptr;
  const int64_t* offsets = nullptr;
  const int32_t* weights = nullptr;
  int64_t quads = 0;
  int64_t stride = 1;
  int64_t tap_step = 1;
  const TapOrder* order = nullptr;
  int64_t results = 0;
  const uint64_t* kept = nullptr;
};
void SumFlatTaps(const FlatTaps& taps, const PairFinish& finish);

}  // namespace plimsoll::kernels::cpu
