#pragma once

#include "kernels/cpu/convolution/bytes/depthwise_taps.h"
#include "kernels/cpu/convolution/convolution_loops.h"
#include "kernels/cpu/quantization/byte_pairs.h"
#include "kernels/cpu/quantization/byte_taps.h"
#include "kernels/cpu/quantization/flat_map.h"
#include "kernels/kernel.h"

namespace plimsoll::kernels::cpu {

// Convolutions of bytes over images of two axes where each filter sees one channel. Some lines of a
// channel at a time are copied with their padding, as unsigned bytes; taps of a line that follow
// each other meet them in one product (byte_taps.h). Sums are exact. Where the processor allows it
// and results are bytes, rows of a map are one row (flat_taps.h): lines that a vertical stride
// keeps apart lie apart, and the padding between two lines is that of both.
class ByteDepthwise {
 public:
  static bool Fits(const ConvolutionShape& shape);

  ByteDepthwise() = default;
  ByteDepthwise(const ConvolutionShape& shape, bool to_bytes);

  Bytes slot_size() const;  // scratch of one thread
  // Constant weights are packed once.
  Status Pack(const KernelSite& site, size_t weights, size_t zeros) {
    return taps_.Pack(site, weights, zeros);
  }
  int64_t units() const { return shape_.batch * shape_.channels; }

  struct Operands {
    const void* data;
    bool data_signed;
    int32_t data_zero;
    DepthwiseTaps::Weights weights;
  };
  // Every `step`-th channel of all images from the `first` on; `finish` is for all filters of the
  // first image, one a row.
  void Run(int64_t first, int64_t step, const Operands& operands, const PairFinish& finish,
           void* scratch) const;

 private:
  void CopyRows(int64_t unit, int64_t row, const Operands& operands, uint8_t* lines) const;
  void SumRows(int64_t unit, int64_t row, const Operands& operands, const PairFinish& finish,
               const uint8_t* lines, DepthwiseTaps::Scratch& scratch) const;
  void CopyLines(const uint8_t* map, uint8_t padding, uint8_t flip, int64_t first, int64_t lines,
                 uint8_t* to) const;
  int64_t map_size() const;
  int64_t Lines(int64_t rows) const;  // of the input, for so many rows of output

  ConvolutionShape shape_;
  TapOrder order_ = {};
  int64_t line_ = 0;      // bytes of a line
  int64_t rows_ = 1;      // of output at once
  int64_t together_ = 1;  // channels at once
  DepthwiseTaps taps_;
  bool flat_ = false;
  FlatMap map_;
};

}  // namespace plimsoll::kernels::cpu
