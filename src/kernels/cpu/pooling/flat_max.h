#pragma once

#include <vector>

#include "kernels/cpu/convolution/sliding_window.h"
#include "kernels/cpu/quantization/flat_map.h"

namespace plimsoll::kernels::cpu {

// The largest byte under each window of a map that is small enough to lie on the stack as one row
// (flat_map.h). A window over padding alone gives the lowest number.
class FlatMax {
 public:
  static bool Fits(const Window& window);

  explicit FlatMax(const Window& window);

  void Run(const uint8_t* x, bool is_signed, uint8_t* y) const;

 private:
  Window window_;
  FlatMap map_;
  std::vector<int64_t> offsets_;  // of the taps of column 0
};

}  // namespace plimsoll::kernels::cpu
