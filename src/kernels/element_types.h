#pragma once

#include <bit>
#include <complex>
#include <cstdint>
#include <cstring>
#include <utility>

#include "graph/data_type.h"

namespace plimsoll::kernels {

// Float types that C++ does not have, as they lie in memory. They convert to float and, rounding to
// the nearest even value, from float; arithmetic is float's.
struct Float16 {
  uint16_t bits = 0;
  Float16() = default;
  explicit Float16(float value) {
    const auto wide = std::bit_cast<uint32_t>(value);
    const auto sign = static_cast<uint16_t>((wide >> 16) & 0x8000u);
    const uint32_t magnitude = wide & 0x7fffffffu;
    if (magnitude > 0x7f800000u) {
      bits = sign | 0x7e00u;
    } else if (magnitude >= 0x477ff000u) {
      bits = sign | 0x7c00u;
    } else if (magnitude < 0x38800000u) {
      // Adding 0.5 aligns a subnormal's last bit with the sum's last bit, so the sum rounds it.
      const float sum = std::bit_cast<float>(magnitude) + 0.5f;
      bits = static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(sum) - 0x3f000000u));
    } else {
      const uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
      bits = static_cast<uint16_t>(sign | ((rounded - 0x38000000u) >> 13));
    }
  }
  operator float() const {  // NOLINT: widening loses nothing
    const uint32_t sign = (bits & 0x8000u) << 16;
    const uint32_t magnitude = bits & 0x7fffu;
    if (magnitude >= 0x7c00u) {
      return std::bit_cast<float>(sign | 0x7f800000u | ((magnitude & 0x3ffu) << 13));
    }
    // 2^112 moves the exponent to float's bias and makes subnormals normal.
    const float scaled = std::bit_cast<float>(magnitude << 13) * 0x1p112f;
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(scaled));
  }
};

struct Bfloat16 {
  uint16_t bits = 0;
  Bfloat16() = default;
  explicit Bfloat16(float value) {
    const auto wide = std::bit_cast<uint32_t>(value);
    const bool is_nan = (wide & 0x7fffffffu) > 0x7f800000u;
    bits = static_cast<uint16_t>(is_nan ? (wide >> 16) | 0x40u
                                        : (wide + 0x7fffu + ((wide >> 16) & 1u)) >> 16);
  }
  operator float() const {  // NOLINT: widening loses nothing
    return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
  }
};

// How an 8-bit or 4-bit float spends its bits.
struct SmallFloat {
  int exponent_bits;
  int mantissa_bits;
  int bias;
  bool has_infinity;   // E5M2 only
  bool unsigned_zero;  // the FNUZ kinds: no negative zero, its pattern is the one NaN
};

// The description of an 8-bit or 4-bit float type; asserts that it is one. Float8E8M0, which has
// neither sign nor mantissa, is not described so.
const SmallFloat& Describe(graph::DataType type);
float SmallFloatToFloat(const SmallFloat& kind, uint8_t bits);
// Rounds to the nearest even value. Beyond the largest: that one when `saturate`, else NaN or
// infinity, as the kind has it. A kind without NaN makes it -0.
uint8_t FloatToSmallFloat(const SmallFloat& kind, float value, bool saturate);

// Float8E8M0, the type of scales: the powers of two from 2^-127 to 2^127, and NaN. The sign of what
// is stored is lost.
enum class ScaleRounding { kUp, kDown, kNearest };  // a tie goes up
float ScaleToFloat(uint8_t bits);
// Beyond the range, and for 0: the nearest number when `saturate`, else NaN.
uint8_t FloatToScale(float value, ScaleRounding rounding, bool saturate);

// The float nearest to `value` that keeps what the cut-off bits say in its last one, so that
// rounding it again to fewer bits gives what rounding `value` itself would.
float RoundedToOdd(double value);

// Elements of 2, 4 or 8 bits as they lie in memory, low bits first.
uint8_t LoadBits(int width, const void* data, int64_t index);
void StoreBits(int width, void* data, int64_t index, uint8_t bits);
// Clears the bits behind the last of `count` elements in its byte; nothing to do for whole bytes.
void ClearPadding(graph::DataType type, void* data, int64_t count);

// One element of a tensor of any numeric type (complex ones excluded), by its index; sub-byte types
// are unpacked. Slow: for small operands, rare types and tests. Stores round and saturate floats
// to the nearest even value; integers are cut to their low bits. `data` may be unaligned.
double LoadDouble(graph::DataType type, const void* data, int64_t index);
int64_t LoadInteger(graph::DataType type, const void* data, int64_t index);
void StoreDouble(graph::DataType type, void* data, int64_t index, double value);
void StoreInteger(graph::DataType type, void* data, int64_t index, int64_t value);

template <typename T>
constexpr bool kIsHalf = std::is_same_v<T, Float16> || std::is_same_v<T, Bfloat16>;
template <typename T>
constexpr bool kIsFloat = std::is_floating_point_v<T> || kIsHalf<T>;

// The type to compute in: float for the half types, the type itself else.
template <typename T>
using Wide = std::conditional_t<kIsHalf<T>, float, T>;

// Calls visit.template operator()<T>() for the C++ type of the elements and gives true; false where
// the list of types does not have it. For example
//   VisitType<AllFloats>(type, [&]<typename T>() { ... });
template <typename... Ts>
struct TypeList {};

using HalfFloats = TypeList<Float16, Bfloat16>;
using AllFloats = TypeList<float, double, Float16, Bfloat16>;
using AllIntegers =
    TypeList<int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t>;
using AllNumbers = TypeList<float, double, Float16, Bfloat16, int8_t, int16_t, int32_t, int64_t,
                            uint8_t, uint16_t, uint32_t, uint64_t>;

template <typename T>
constexpr graph::DataType kDataTypeOf = [] {
  using graph::DataType;
  if constexpr (std::is_same_v<T, float>) return DataType::kFloat32;
  if constexpr (std::is_same_v<T, double>) return DataType::kFloat64;
  if constexpr (std::is_same_v<T, Float16>) return DataType::kFloat16;
  if constexpr (std::is_same_v<T, Bfloat16>) return DataType::kBfloat16;
  if constexpr (std::is_same_v<T, int8_t>) return DataType::kInt8;
  if constexpr (std::is_same_v<T, int16_t>) return DataType::kInt16;
  if constexpr (std::is_same_v<T, int32_t>) return DataType::kInt32;
  if constexpr (std::is_same_v<T, int64_t>) return DataType::kInt64;
  if constexpr (std::is_same_v<T, uint8_t>) return DataType::kUint8;
  if constexpr (std::is_same_v<T, uint16_t>) return DataType::kUint16;
  if constexpr (std::is_same_v<T, uint32_t>) return DataType::kUint32;
  if constexpr (std::is_same_v<T, uint64_t>) return DataType::kUint64;
  if constexpr (std::is_same_v<T, bool>) return DataType::kBool;
  if constexpr (std::is_same_v<T, std::complex<float>>) return DataType::kComplex64;
  if constexpr (std::is_same_v<T, std::complex<double>>) return DataType::kComplex128;
  return DataType::kUndefined;
}();

template <typename List, typename Visit>
bool VisitType(graph::DataType type, Visit&& visit) {
  return [&]<typename... Ts>(TypeList<Ts...>) {
    return ((kDataTypeOf<Ts> == type && (visit.template operator()<Ts>(), true)) || ...);
  }(List());
}

}  // namespace plimsoll::kernels
