#pragma once

#include <cstdint>
#include <vector>

#include "kernels/cpu/convolution/sliding_window.h"
#include "kernels/cpu/quantization/flat_taps.h"

namespace plimsoll::kernels::cpu {

// How a map of bytes lies so that rows of windows over it are one row: lines follow each other, the
// padding between two of them is that of both, and lines that a vertical stride keeps apart lie
// apart.
class FlatMap {
 public:
  FlatMap() = default;
  explicit FlatMap(const Window& window);

  // For so many rows of output.
  void Lay(int64_t rows);

  int64_t line() const { return line_; }  // bytes
  int64_t size() const { return window_.strides[1] * plane_lines_ * line_; }
  // Beyond the last map that is read or written.
  int64_t slack() const { return kFlatSlack + window_.Extent(2) + window_.begin[2]; }
  // Where a line begins, counted from the first that the rows see.
  int64_t LineOffset(int64_t line) const;
  // A bit for each column, whether it is one of the output's.
  const uint64_t* kept() const { return kept_.data(); }

  // Lines [first, first + lines) of `map`, each byte xor `flip`; one that lies outside is padding.
  void Copy(const uint8_t* map, uint8_t padding, uint8_t flip, int64_t first, int64_t lines,
            uint8_t* to) const;

 private:
  Window window_;
  int64_t line_ = 1;
  int64_t plane_lines_ = 1;
  std::vector<uint64_t> kept_;
};

}  // namespace plimsoll::kernels::cpu
