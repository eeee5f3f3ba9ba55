#pragma once

#include <cstdint>

#include "kernels/cpu/convolution/sliding_window.h"

// The largest byte under each window of a map of two axes, over vectors: first of the lines of a
// row of windows, then of the columns of each.
namespace plimsoll::kernels::cpu {

bool FitsByteMax(const Window& window);
void MaxBytes(const Window& window, const uint8_t* x, uint8_t* y);
void MaxBytes(const Window& window, const int8_t* x, int8_t* y);

}  // namespace plimsoll::kernels::cpu
