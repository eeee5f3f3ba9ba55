#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "plimsoll/base/bytes.h"

namespace plimsoll {

// Element types, with the numbers of the ONNX standard.
enum class DataType : int32_t {
  kUndefined = 0,
  kFloat32 = 1,
  kUint8 = 2,
  kInt8 = 3,
  kUint16 = 4,
  kInt16 = 5,
  kInt32 = 6,
  kInt64 = 7,
  kString = 8,
  kBool = 9,
  kFloat16 = 10,
  kFloat64 = 11,
  kUint32 = 12,
  kUint64 = 13,
  kComplex64 = 14,
  kComplex128 = 15,
  kBfloat16 = 16,
  kFloat8E4M3FN = 17,
  kFloat8E4M3FNUZ = 18,
  kFloat8E5M2 = 19,
  kFloat8E5M2FNUZ = 20,
  kUint4 = 21,
  kInt4 = 22,
  kFloat4E2M1 = 23,
  kFloat8E8M0 = 24,
  kUint2 = 25,
  kInt2 = 26,
};

// The type with that ONNX number, or nothing when the standard has none.
std::optional<DataType> DataTypeFromOnnx(int64_t number);

// "float32", "uint4", "string".
std::string_view Name(DataType type);
std::optional<DataType> DataTypeFromName(std::string_view name);

// Bits of one element as it lies in memory; 0 for strings, which live on the host as objects.
int Bits(DataType type);

bool IsInteger(DataType type);   // signed and unsigned of any width, not bool
bool IsFloating(DataType type);  // any width, bfloat16 and the 8- and 4-bit ones too

// The type whose elements are objects of this C++ type: DataTypeOf<float>() is kFloat32. Types that
// C++ has no object for (float16, 4-bit integers) have none.
template <typename Element>
constexpr DataType DataTypeOf();

// Bytes that `elements` elements take, sub-byte types packed; saturates instead of wrapping.
Bytes SizeOf(DataType type, int64_t elements);

template <>
constexpr DataType DataTypeOf<float>() {
  return DataType::kFloat32;
}
template <>
constexpr DataType DataTypeOf<double>() {
  return DataType::kFloat64;
}
template <>
constexpr DataType DataTypeOf<uint8_t>() {
  return DataType::kUint8;
}
template <>
constexpr DataType DataTypeOf<int8_t>() {
  return DataType::kInt8;
}
template <>
constexpr DataType DataTypeOf<uint16_t>() {
  return DataType::kUint16;
}
template <>
constexpr DataType DataTypeOf<int16_t>() {
  return DataType::kInt16;
}
template <>
constexpr DataType DataTypeOf<uint32_t>() {
  return DataType::kUint32;
}
template <>
constexpr DataType DataTypeOf<int32_t>() {
  return DataType::kInt32;
}
template <>
constexpr DataType DataTypeOf<uint64_t>() {
  return DataType::kUint64;
}
template <>
constexpr DataType DataTypeOf<int64_t>() {
  return DataType::kInt64;
}
template <>
constexpr DataType DataTypeOf<bool>() {
  return DataType::kBool;
}
template <>
constexpr DataType DataTypeOf<std::string>() {
  return DataType::kString;
}

}  // namespace plimsoll
