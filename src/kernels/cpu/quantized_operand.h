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

// to[i] = data[i] - zero_point[place(i)], where place gives an index into the zero points; none
// where those are null.
template <typename Place>
void SubtractZeroPoint(graph::DataType type, const void* data, int64_t count,
                       const void* zero_points, const Place& place, uint32_t* to) {
  VisitType<TypeList<int8_t, uint8_t>>(type, [&]<typename T>() {
    const T* const elements = static_cast<const T*>(data);
    const T* const zeros = static_cast<const T*>(zero_points);
    for (int64_t i = 0; i < count; ++i) {
      const int32_t zero = zeros == nullptr ? 0 : zeros[place(i)];
      to[i] = static_cast<uint32_t>(elements[i] - zero);
    }
  });
}

// One element of a quantized result, rounded to the nearest even number and kept to its range.
inline void StoreQuantized(graph::DataType type, double value, int64_t zero_point, void* data,
                           int64_t index) {
  const double least = type == graph::DataType::kInt8 ? -128 : 0;
  const double rounded = std::nearbyint(value) + static_cast<double>(zero_point);
  const double kept = rounded > least ? std::min(rounded, least + 255) : least;
  StoreInteger(type, data, index, static_cast<int64_t>(kept));
}

}  // namespace plimsoll::kernels::cpu
