#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace plimsoll::engine {

// A tensor of strings as the bytes of a file: for each its length, 8 bytes little-endian, then its
// characters.
std::vector<std::byte> StringsAsBytes(const std::vector<std::string_view>& strings);

// Views on the strings in such bytes.
std::vector<std::string_view> StringsIn(std::span<const std::byte> bytes);

}  // namespace plimsoll::engine
