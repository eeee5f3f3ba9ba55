#pragma once

#include <cstddef>
#include <cstdint>

#include "graph/data_type.h"

// Element types in wide forms: double for any number, int64_t for integers and bool. Everything
// between two narrow types goes through these, a piece at a time, so that there are as many loops
// as types and not as pairs of types.
namespace plimsoll::kernels::cpu {

// Elements of a piece: a buffer of the wide type fits the stack and the first cache.
inline constexpr int64_t kWidePiece = 512;

// Room for a piece of any wide type.
struct WideBuffer {
  alignas(8) std::byte bytes[kWidePiece * 8];
};

// Reads `count` elements from number `first` on into `wide`, an array of the wide type. uint64
// elements keep their bits.
using WidenLoop = void (*)(const void* from, int64_t first, void* wide, int64_t count);
// Writes them from element `first` on: rounds to the nearest even float, cuts integers to their low
// bits, and fractions off.
using NarrowLoop = void (*)(const void* wide, void* to, int64_t first, int64_t count);

// Null for types that have no such form: strings and complex numbers; floats as integers; to
// narrow, floats of 8 and 4 bits, which have rules of their own.
WidenLoop WidenToDouble(graph::DataType type);
WidenLoop WidenToInt64(graph::DataType integer);
NarrowLoop NarrowFromDouble(graph::DataType type);
NarrowLoop NarrowFromInt64(graph::DataType type);
NarrowLoop NarrowFromUint64(graph::DataType type);

// Towards zero; the lowest number where the result does not fit or is no number.
inline int64_t ToInt64(double value) {
  constexpr double kLimit = 9223372036854775808.0;  // 2^63
  return value >= -kLimit && value < kLimit ? static_cast<int64_t>(value) : INT64_MIN;
}

}  // namespace plimsoll::kernels::cpu
