#pragma once

#include <cstdint>

namespace plimsoll::kernels::cpu {

// Rows of whole numbers as floats, over the widest vectors of the machine; nothing is allocated.

// out[i] = (x[i] - zeros[i]) * scales[i]; without `zeros` these are 0.
void DequantizeColumns(const uint8_t* x, const uint8_t* zeros, const float* scales, int64_t count,
                       float* out);
void DequantizeColumns(const int8_t* x, const int8_t* zeros, const float* scales, int64_t count,
                       float* out);
void DequantizeColumns(const uint16_t* x, const uint16_t* zeros, const float* scales, int64_t count,
                       float* out);
void DequantizeColumns(const int16_t* x, const int16_t* zeros, const float* scales, int64_t count,
                       float* out);

// Elements [first, first + count) of numbers of 4 bits, two in a byte, the lower half first.
void UnpackFourBits(const void* packed, int64_t first, int64_t count, bool is_signed, int8_t* out);

}  // namespace plimsoll::kernels::cpu
