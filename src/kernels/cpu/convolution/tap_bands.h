#pragma once

#include <vector>

#include "kernels/cpu/convolution/sliding_window.h"

namespace plimsoll::kernels::cpu {

// Places [first, end) of one axis of the output which meet the input under taps
// [first_tap, end_tap).
struct TapBand {
  int64_t first = 0;
  int64_t end = 0;
  int64_t first_tap = 0;
  int64_t end_tap = 0;

  int64_t length() const { return end - first; }
  int64_t taps() const { return end_tap - first_tap; }
};

// All of an axis, from its first place on.
std::vector<TapBand> TapBandsOf(const Window& window, size_t axis);

}  // namespace plimsoll::kernels::cpu
