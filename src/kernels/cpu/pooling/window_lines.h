#pragma once

#include <cstdint>
#include <span>

#include "kernels/cpu/convolution/sliding_window.h"

// What pools make of the elements under each window of a map, over vectors: first of the lines of a
// row of windows, then of the columns of each.
namespace plimsoll::kernels::cpu {

// Whether the line under one window fits.
bool FitsWindowLines(const Window& window);

// The largest; NaN is overlooked, and a window over padding alone gives the lowest number.
void MaxOfWindows(const Window& window, const uint8_t* x, uint8_t* y);
void MaxOfWindows(const Window& window, const int8_t* x, int8_t* y);
void MaxOfWindows(const Window& window, const float* x, float* y);

void SumOfWindows(const Window& window, const float* x, float* y);

// y[i] /= count * counts[i]
void DivideByCounts(float count, std::span<const float> counts, float* y);

}  // namespace plimsoll::kernels::cpu
