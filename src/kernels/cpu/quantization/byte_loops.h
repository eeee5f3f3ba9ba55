#pragma once

#include <array>
#include <cstdint>

#include "kernels/kernel.h"

// Loops over runs of elements between floats and integers of 8 or 16 bits.
namespace plimsoll::kernels::cpu {

// The smallest and the largest of some floats, 0 being one of them.
struct FloatRange {
  float least = 0;
  float most = 0;
};
FloatRange RangeOfFloats(const float* data, int64_t count);

// The scale and the zero point with which uint8 just fits a range.
struct DynamicScale {
  float scale = 1;
  uint8_t zero_point = 0;
};
DynamicScale DynamicScaleOf(const FloatRange& range);

// x / scale, rounded to the nearest even number, plus the zero point, kept to the type's range.
void QuantizeRun(const float* x, int64_t count, float scale, int32_t zero_point, uint8_t* out);
void QuantizeRun(const float* x, int64_t count, float scale, int32_t zero_point, int8_t* out);
void QuantizeRun(const float* x, int64_t count, float scale, int32_t zero_point, uint16_t* out);
void QuantizeRun(const float* x, int64_t count, float scale, int32_t zero_point, int16_t* out);

// (x - zero point) * scale.
void DequantizeRun(const uint8_t* x, int64_t count, float scale, int32_t zero_point, float* out);
void DequantizeRun(const int8_t* x, int64_t count, float scale, int32_t zero_point, float* out);
void DequantizeRun(const uint16_t* x, int64_t count, float scale, int32_t zero_point, float* out);
void DequantizeRun(const int16_t* x, int64_t count, float scale, int32_t zero_point, float* out);

// What becomes of each of the 256 bytes, and some bytes translated by it.
using ByteTable = std::array<uint8_t, 256>;
void TranslateBytes(const ByteTable& table, const uint8_t* from, int64_t count, uint8_t* to);

// Two quantised operands and how they become a result: round(factor_a * a + (factor_b * b +
// offset)) for a sum, round(factor_a * ((a - zero_a) * (b - zero_b)) + offset) for a product, kept
// to the type's range. Products of a sum are fused with its additions where the machine can. This
// is the order of ONNX Runtime, so that what lies between two bytes falls on the same one. With a
// `divisor` every step is rounded to float32, as DequantizeLinear, Add or Mul, and QuantizeLinear
// do: round((factor_a * (a - zero_a) + factor_b * (b - zero_b)) / divisor) + offset, or with the
// product of both. Steps are 0 or 1.
struct ByteOperands {
  bool is_signed = false;
  bool product = false;  // of both, else their sum
  const void* a = nullptr;
  int64_t step_a = 1;
  const void* b = nullptr;
  int64_t step_b = 1;
  int32_t zero_a = 0;  // of a product; in the offset of a sum
  int32_t zero_b = 0;
  float factor_a = 1;
  float factor_b = 1;
  float offset = 0;
  float divisor = 0;  // 0: none
};
void CombineBytes(const ByteOperands& operands, int64_t count, void* out);

}  // namespace plimsoll::kernels::cpu
