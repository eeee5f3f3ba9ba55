#include "engine/debug/npy_format.h"

#include <algorithm>
#include <array>

#include "plimsoll/base/text.h"

namespace plimsoll::engine {
namespace {

struct NpyTypeRow {
  std::string_view name;
  DataType type;
};
constexpr std::array<NpyTypeRow, 14> kNpyTypes = {{{"<f4", DataType::kFloat32},
                                                   {"<f8", DataType::kFloat64},
                                                   {"<f2", DataType::kFloat16},
                                                   {"|i1", DataType::kInt8},
                                                   {"<i2", DataType::kInt16},
                                                   {"<i4", DataType::kInt32},
                                                   {"<i8", DataType::kInt64},
                                                   {"|u1", DataType::kUint8},
                                                   {"<u2", DataType::kUint16},
                                                   {"<u4", DataType::kUint32},
                                                   {"<u8", DataType::kUint64},
                                                   {"|b1", DataType::kBool},
                                                   {"<c8", DataType::kComplex64},
                                                   {"<c16", DataType::kComplex128}}};

}  // namespace

std::optional<std::string_view> NpyTypeName(DataType type) {
  const auto row = std::ranges::find(kNpyTypes, type, &NpyTypeRow::type);
  return row == kNpyTypes.end() ? std::nullopt : std::optional(row->name);
}

std::optional<DataType> NpyType(std::string_view name) {
  const auto row = std::ranges::find(kNpyTypes, name, &NpyTypeRow::name);
  return row == kNpyTypes.end() ? std::nullopt : std::optional(row->type);
}

std::optional<std::string> NpyHeader(DataType type, std::span<const int64_t> dims) {
  const auto name = NpyTypeName(type);
  return name ? std::optional(NpyHeaderOf(*name, dims)) : std::nullopt;
}

std::string NpyHeaderOf(std::string_view descr, std::span<const int64_t> dims) {
  std::string shape = Join(dims, ", ");
  if (dims.size() == 1) shape += ",";
  std::string header =
      StrCat("{'descr': '", descr, "', 'fortran_order': False, 'shape': (", shape, "), }");
  constexpr size_t kPrefix = 10;
  constexpr size_t kAlignment = 64;
  while ((kPrefix + header.size() + 1) % kAlignment != 0) header += ' ';
  header += '\n';
  const std::string version{'\x01', '\x00', static_cast<char>(header.size() % 256),
                            static_cast<char>(header.size() / 256)};
  return StrCat(kNpyMagic, version, header);
}

}  // namespace plimsoll::engine
