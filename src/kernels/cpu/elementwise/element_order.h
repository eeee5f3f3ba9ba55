#pragma once

#include <string>

#include "kernels/element_types.h"

namespace plimsoll::kernels::cpu {

// The order of numpy's sort: numbers by value, NaN behind all of them and equal to itself; strings
// by their bytes. A strict weak order, so the standard library may sort by it.
template <typename T>
bool ComesBefore(const T& a, const T& b) {
  if constexpr (kIsFloat<T>) {
    const Wide<T> left = a;
    const Wide<T> right = b;
    return left < right || (right != right && left == left);
  } else {
    return a < b;
  }
}

}  // namespace plimsoll::kernels::cpu
