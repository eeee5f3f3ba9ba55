#pragma once

#include "kernels/cpu/convolution/convolution_loops.h"
#include "kernels/cpu/quantization/byte_pairs.h"
#include "kernels/kernel.h"

namespace plimsoll::kernels::cpu {

// Convolutions of bytes over images of two axes where each filter sees one channel. Some lines of a
// channel at a time become floats, with their padding, and columns that a stride keeps apart lie
// apart; a row of results is then a sum of rows. Sums are whole numbers that a float holds exactly.
class ByteDepthwise {
 public:
  static bool Fits(const ConvolutionShape& shape);

  ByteDepthwise() = default;
  explicit ByteDepthwise(const ConvolutionShape& shape);

  Bytes slot_size() const;  // scratch of one thread
  int64_t units() const { return shape_.batch * shape_.channels; }

  struct Operands {
    const void* data;
    bool data_signed;
    int32_t data_zero;
    const void* weights;
    bool weights_signed;
    const void* weights_zeros;  // null: 0
    int64_t weights_zero_count;
  };
  // One channel of one image; `finish` is for all filters of the first image, one a row.
  void Run(int64_t unit, const Operands& operands, const PairFinish& finish, void* scratch) const;

 private:
  template <typename X>
  void ReadLines(const X* map, int32_t zero, int64_t first, int64_t lines, float* line,
                 float* to) const;
  template <typename W>
  void ReadWeights(const Operands& operands, int64_t filter, float* to) const;
  int64_t Lines(int64_t rows) const;  // of the input, for so many rows of output
  int64_t LineSize() const { return shape_.window.strides[2] * phase_; }

  ConvolutionShape shape_;
  int64_t phase_ = 0;  // floats of a line that lie together: every stride-th column
  int64_t rows_ = 1;   // of output at once
};

}  // namespace plimsoll::kernels::cpu
