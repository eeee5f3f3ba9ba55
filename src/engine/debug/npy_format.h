#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "plimsoll/base/data_type.h"

namespace plimsoll::engine {

// Element types as NumPy writes them: "<f4". Nothing for those that NumPy does not have (bfloat16,
// 8-bit floats, 4-bit integers, strings).
std::optional<std::string_view> NpyTypeName(DataType type);
std::optional<DataType> NpyType(std::string_view name);

inline constexpr std::string_view kNpyMagic = "\x93NUMPY";

// What an .npy file (version 1) begins with; the elements follow, row-major. Nothing for a type
// that NumPy does not have.
std::optional<std::string> NpyHeader(DataType type, std::span<const int64_t> dims);
// The same for elements that NumPy describes so: "<U5".
std::string NpyHeaderOf(std::string_view descr, std::span<const int64_t> dims);

}  // namespace plimsoll::engine
