#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "kernels/kernel.h"

namespace plimsoll::kernels::cpu {

// A window that slides over up to three spatial axes, with all that attributes leave open worked
// out. Where the data has fewer axes the first ones are of size 1. For transposed convolutions
// `input` and `output` keep their meaning, and pads are cut off the output.
struct Window {
  static constexpr size_t kAxes = 3;
  using Sizes = std::array<int64_t, kAxes>;

  size_t rank = 0;  // spatial axes of the node's data
  Sizes input;
  Sizes output;
  Sizes kernel;
  Sizes strides;
  Sizes dilations;  // 1: dense
  Sizes begin;      // padding in front
  // Padding behind as the node has it; the last window may reach beyond it or end before it.
  Sizes declared_end;

  int64_t InputSize() const { return input[0] * input[1] * input[2]; }
  int64_t OutputSize() const { return output[0] * output[1] * output[2]; }
  int64_t KernelSize() const { return kernel[0] * kernel[1] * kernel[2]; }
  int64_t Extent(size_t axis) const { return (kernel[axis] - 1) * dilations[axis] + 1; }
  // Padding behind that the last window makes use of; negative where it ends before the input does.
  int64_t End(size_t axis) const {
    return (output[axis] - 1) * strides[axis] + Extent(axis) - input[axis] - begin[axis];
  }
  // The same for a transposed convolution, where the larger side is the output.
  int64_t TransposedEnd(size_t axis) const {
    return (input[axis] - 1) * strides[axis] + Extent(axis) - output[axis] - begin[axis];
  }
  bool IsDense() const { return dilations == Sizes{1, 1, 1}; }

  // The entries of the node's own axes, or one of size 1 where it has none.
  Dims Own(const Sizes& sizes) const {
    return Dims(sizes.end() - static_cast<int64_t>(std::max<size_t>(rank, 1)), sizes.end());
  }
};

// The window over axes [2, 2 + spatial) of data and output, as the node's attributes have it.
// `kernel` holds the spatial sizes of the weights or attribute kernel_shape. Fails with Unsupported
// for more than three spatial axes.
Result<Window> ReadWindow(const KernelSite& site, const Dims& data, const Dims& kernel,
                          const Dims& output);
Result<Window> ReadTransposedWindow(const KernelSite& site, const Dims& data, const Dims& kernel,
                                    const Dims& output);

// By how far places are behind a multiple of the stride: whether any tap looks at them.
std::vector<bool> PhasesThatTapsMeet(int64_t taps, int64_t dilation, int64_t stride);

}  // namespace plimsoll::kernels::cpu
