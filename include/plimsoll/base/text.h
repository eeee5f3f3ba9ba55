#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "plimsoll/base/bytes.h"

namespace plimsoll {

// Text made of its parts: StrCat("node ", 3, " of ", name). Numbers are written in full, doubles
// shortest-exact, bool as true or false.
namespace text_internal {
void Append(std::string& out, std::string_view part);
void Append(std::string& out, const char* part);
void Append(std::string& out, char part);
void Append(std::string& out, bool part);
void Append(std::string& out, double part);
void Append(std::string& out, Bytes part);  // "1.5 MiB"
template <typename T>
requires(std::is_integral_v<T> && !std::is_same_v<T, bool> &&
         !std::is_same_v<T, char>) void Append(std::string& out, T part) {
  char digits[24];
  auto [end, error] = std::to_chars(digits, digits + sizeof(digits), part);
  out.append(digits, end);
}
}  // namespace text_internal

// Texts and numbers, one after the other.
template <typename... Parts>
std::string StrCat(const Parts&... parts) {
  std::string out;
  (text_internal::Append(out, parts), ...);
  return out;
}

// StrCat of a list.
template <typename Range>
std::string Join(const Range& parts, std::string_view separator) {
  std::string out;
  bool first = true;
  for (const auto& part : parts) {
    if (!first) out += separator;
    first = false;
    text_internal::Append(out, part);
  }
  return out;
}

// "0 B", "512 B", "1.5 KiB", "97.7 MiB": four significant figures at most.
std::string FormatBytes(Bytes bytes);

// "4096", "512MiB", "1.5 GiB", "2g" (GiB), "64MB" (64,000,000): nothing when the text is no size,
// is negative or overflows.
std::optional<Bytes> ParseBytes(std::string_view text);

// A whole decimal number with nothing around it.
std::optional<int64_t> ParseInteger(std::string_view text);
std::optional<double> ParseDouble(std::string_view text);

// Empty pieces too.
std::vector<std::string_view> Split(std::string_view text, char separator);
// Without spaces at its ends.
std::string_view Trim(std::string_view text);

// The candidate nearest in spelling, or nothing when none is near enough to be a slip.
std::optional<std::string> NearestName(std::string_view name,
                                       std::span<const std::string> candidates);

}  // namespace plimsoll
