#include "kernels/cpu/convolution/tap_bands.h"

#include <algorithm>

namespace plimsoll::kernels::cpu {

std::vector<TapBand> TapBandsOf(const Window& window, size_t axis) {
  std::vector<TapBand> bands;
  for (int64_t place = 0; place < window.output[axis]; ++place) {
    const int64_t begin = place * window.strides[axis] - window.begin[axis];
    const int64_t step = window.dilations[axis];
    const int64_t kernel = window.kernel[axis];
    TapBand own{.first = place, .end = place + 1};
    own.first_tap = std::min(begin >= 0 ? 0 : (-begin + step - 1) / step, kernel);
    const int64_t inside = window.input[axis] - begin;
    own.end_tap = std::clamp(inside <= 0 ? 0 : (inside - 1) / step + 1, own.first_tap, kernel);
    const bool same = !bands.empty() && bands.back().first_tap == own.first_tap &&
                      bands.back().end_tap == own.end_tap;
    if (same) {
      bands.back().end = own.end;
    } else {
      bands.push_back(own);
    }
  }
  return bands;
}

}  // namespace plimsoll::kernels::cpu
