#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "plimsoll/base/bytes.h"

namespace plimsoll::graph {

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

// Bytes that `elements` elements take, sub-byte types packed; saturates instead of wrapping.
Bytes SizeOf(DataType type, int64_t elements);

}  // namespace plimsoll::graph
