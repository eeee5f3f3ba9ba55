#pragma once

#include "kernels/cpu/convolution/convolution_loops.h"
#include "plimsoll/base/bytes.h"

namespace plimsoll::kernels::cpu {

// What output places of a convolution of bytes look at, as groups of columns of pairs
// (byte_pairs.h): the pair of channels, then the tap. The input lines that some places need are
// paired once, with their padding, channel by channel; columns that a stride keeps apart lie apart.
// Places are then copied tap by tap.
class PairedWindow {
 public:
  PairedWindow() = default;
  explicit PairedWindow(const ConvolutionShape& shape);

  // Scratch for `places` output places.
  Bytes size(int64_t places) const;

  // `x` are the channels of the group; places [first, first + count).
  void Gather(const uint8_t* x, int64_t first, int64_t count, uint8_t zero, int32_t* lines,
              int32_t* columns) const;
  void Gather(const int8_t* x, int64_t first, int64_t count, int8_t zero, int32_t* lines,
              int32_t* columns) const;

 private:
  template <typename X>
  void GatherOf(const X* x, int64_t first, int64_t count, X zero, int32_t* lines,
                int32_t* columns) const;
  template <typename X>
  void ReadLine(const X* one, const X* other, int64_t line, X zero, int32_t* scratch,
                int32_t* to) const;
  int64_t LinesFor(int64_t rows) const;  // at most, of the input for so many rows of output

  ConvolutionShape shape_;
  int64_t phase_ = 0;  // pairs of a line that lie together
  int64_t line_ = 0;   // pairs of a line
};

}  // namespace plimsoll::kernels::cpu
