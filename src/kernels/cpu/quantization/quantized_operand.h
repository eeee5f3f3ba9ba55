#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/element_types.h"
#include "kernels/kernel.h"

// Operands of integer products and convolutions: 8-bit integers less their zero point.
namespace plimsoll::kernels::cpu {

inline bool IsByte(graph::DataType type) {
  return type == graph::DataType::kInt8 || type == graph::DataType::kUint8;
}

// Elements less one zero point, read like a pointer; differences wrap.
template <typename T>
struct LessZero {
  const T* data;
  int32_t zero;

  uint32_t operator[](int64_t i) const { return static_cast<uint32_t>(data[i] - zero); }
  LessZero operator+(int64_t offset) const { return {data + offset, zero}; }
};

// The factor by which sums become steps of a result, and what it lacks as a float.
struct SumScale {
  float scale = 1;
  float rest = 0;

  // x * w / y, in real numbers where `nearest`, else rounded to float32 after each step, as in ONNX
  // Runtime: last bits decide bytes.
  static SumScale Of(float x, float w, float y, bool nearest) {
    if (!nearest) return {.scale = x * w / y};
    const double exact = static_cast<double>(x) * w / y;
    const auto scale = static_cast<float>(exact);
    return {.scale = scale, .rest = static_cast<float>(exact - scale)};
  }
};

// One element of a quantized result, rounded to the nearest even number and kept to its range.
inline void StoreQuantized(graph::DataType type, double value, int64_t zero_point, void* data,
                           int64_t index) {
  const double least = type == graph::DataType::kInt8 ? -128 : 0;
  const double rounded = std::nearbyint(value) + static_cast<double>(zero_point);
  const double kept = rounded > least ? std::min(rounded, least + 255) : least;
  StoreInteger(type, data, index, static_cast<int64_t>(kept));
}

}  // namespace plimsoll::kernels::cpu
