#include "plimsoll/base/data_type.h"

#include <array>

namespace plimsoll {
namespace {

enum class Family : uint8_t { kNone, kInteger, kFloating, kOther };

struct Row {
  std::string_view name;
  int bits;
  Family family;
};

constexpr std::array<Row, 27> kRows = {{
    {"undefined", 0, Family::kNone},
    {"float32", 32, Family::kFloating},
    {"uint8", 8, Family::kInteger},
    {"int8", 8, Family::kInteger},
    {"uint16", 16, Family::kInteger},
    {"int16", 16, Family::kInteger},
    {"int32", 32, Family::kInteger},
    {"int64", 64, Family::kInteger},
    {"string", 0, Family::kOther},
    {"bool", 8, Family::kOther},
    {"float16", 16, Family::kFloating},
    {"float64", 64, Family::kFloating},
    {"uint32", 32, Family::kInteger},
    {"uint64", 64, Family::kInteger},
    {"complex64", 64, Family::kOther},
    {"complex128", 128, Family::kOther},
    {"bfloat16", 16, Family::kFloating},
    {"float8e4m3fn", 8, Family::kFloating},
    {"float8e4m3fnuz", 8, Family::kFloating},
    {"float8e5m2", 8, Family::kFloating},
    {"float8e5m2fnuz", 8, Family::kFloating},
    {"uint4", 4, Family::kInteger},
    {"int4", 4, Family::kInteger},
    {"float4e2m1", 4, Family::kFloating},
    {"float8e8m0", 8, Family::kFloating},
    {"uint2", 2, Family::kInteger},
    {"int2", 2, Family::kInteger},
}};

const Row& RowOf(DataType type) { return kRows[static_cast<size_t>(type)]; }

}  // namespace

std::optional<DataType> DataTypeFromOnnx(int64_t number) {
  if (number < 0 || number >= static_cast<int64_t>(kRows.size())) return std::nullopt;
  return static_cast<DataType>(number);
}

std::string_view Name(DataType type) { return RowOf(type).name; }

std::optional<DataType> DataTypeFromName(std::string_view name) {
  for (size_t i = 1; i < kRows.size(); ++i) {
    if (kRows[i].name == name) return static_cast<DataType>(i);
  }
  return std::nullopt;
}

int Bits(DataType type) { return RowOf(type).bits; }
bool IsInteger(DataType type) { return RowOf(type).family == Family::kInteger; }
bool IsFloating(DataType type) { return RowOf(type).family == Family::kFloating; }

Bytes SizeOf(DataType type, int64_t elements) {
  const int bits = Bits(type);
  if (bits >= 8) return Bytes(elements) * (bits / 8);
  if (bits == 0) return Bytes(0);
  const int per_byte = 8 / bits;
  return Bytes(elements / per_byte + (elements % per_byte != 0 ? 1 : 0));
}

}  // namespace plimsoll
