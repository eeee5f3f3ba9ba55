#pragma once

#include <cstdint>

#include "kernels/element_types.h"

namespace plimsoll::kernels::cpu {

// Turns the pairs among the first `rotated` of `width` elements of one head by their angles; the
// rest stays as it is. Both elements of a pair are read before they are written, so that y may be
// x.
template <typename T>
void TurnHead(const T* x, const T* cosines, const T* sines, int64_t rotated, int64_t width,
              bool interleaved, T* y) {
  const int64_t half = rotated / 2;
  const int64_t step = interleaved ? 2 : 1;
  const int64_t distance = interleaved ? 1 : half;
  for (int64_t i = 0; i < half; ++i) {
    const Wide<T> real = x[i * step];
    const Wide<T> imaginary = x[i * step + distance];
    const Wide<T> cosine = cosines[i];
    const Wide<T> sine = sines[i];
    y[i * step] = T(cosine * real - sine * imaginary);
    y[i * step + distance] = T(sine * real + cosine * imaginary);
  }
  for (int64_t i = rotated; i < width; ++i) y[i] = x[i];
}

}  // namespace plimsoll::kernels::cpu
