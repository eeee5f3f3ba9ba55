#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

#include "kernels/element_types.h"

namespace plimsoll::kernels::cpu {

// Rows of elements to and from a wide type (double, int64_t, uint64_t), so that an operator which
// works on many types is compiled for the wide ones only.
template <typename Wide>
struct WideElements {
  using Load = void (*)(const void* data, int64_t first, int64_t count, Wide* to);
  using Store = void (*)(const Wide* from, int64_t count, void* data, int64_t first);
  Load load = nullptr;  // null: the type has no such form
  Store store = nullptr;
};

using FloatsIntegersAndBool = TypeList<float, double, Float16, Bfloat16, int8_t, int16_t, int32_t,
                                       int64_t, uint8_t, uint16_t, uint32_t, uint64_t, bool>;

// Stores of double into integers cut the fraction, keep to the type's range and make 0 of NaN.
template <typename T>
T IntegerFrom(double value) {
  constexpr auto kLow = static_cast<double>(std::numeric_limits<T>::lowest());
  constexpr auto kHigh = static_cast<double>(std::numeric_limits<T>::max());
  if (!(value > kLow)) return value == value ? std::numeric_limits<T>::lowest() : T(0);
  return value >= kHigh ? std::numeric_limits<T>::max() : static_cast<T>(value);
}

// Numbers and bool; stores round to the nearest for half types and cut integers to their low bits.
template <typename Wide>
WideElements<Wide> WideElementsOf(graph::DataType type) {
  WideElements<Wide> elements;
  VisitType<FloatsIntegersAndBool>(type, [&]<typename T>() {
    elements.load = [](const void* data, int64_t first, int64_t count, Wide* to) {
      const T* from = static_cast<const T*>(data) + first;
      for (int64_t i = 0; i < count; ++i) to[i] = static_cast<Wide>(from[i]);
    };
    elements.store = [](const Wide* from, int64_t count, void* data, int64_t first) {
      T* to = static_cast<T*>(data) + first;
      for (int64_t i = 0; i < count; ++i) {
        if constexpr (kIsHalf<T>) {
          to[i] = T(static_cast<float>(from[i]));
        } else if constexpr (std::is_integral_v<T> && std::is_floating_point_v<Wide>) {
          to[i] = IntegerFrom<T>(from[i]);
        } else {
          to[i] = static_cast<T>(from[i]);
        }
      }
    };
  });
  return elements;
}

}  // namespace plimsoll::kernels::cpu
