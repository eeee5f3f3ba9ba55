#include "plimsoll/base/text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <utility>

namespace plimsoll {
namespace text_internal {

void Append(std::string& out, std::string_view part) { out += part; }
void Append(std::string& out, const char* part) { out += part; }
void Append(std::string& out, char part) { out += part; }
void Append(std::string& out, bool part) { out += part ? "true" : "false"; }
void Append(std::string& out, double part) {
  char digits[32];
  auto [end, error] = std::to_chars(digits, digits + sizeof(digits), part);
  out.append(digits, end);
}
void Append(std::string& out, Bytes part) { out += FormatBytes(part); }

}  // namespace text_internal

namespace {

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// Edits (insert, delete, replace, swap two neighbours) from one word to the other; letters that
// differ in case only count as equal.
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1);
  std::vector<size_t> last(b.size() + 1);
  std::vector<size_t> row(b.size() + 1);
  std::iota(last.begin(), last.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const bool same = Lower(a[i - 1]) == Lower(b[j - 1]);
      row[j] = std::min({last[j - 1] + (same ? 0 : 1), last[j] + 1, row[j - 1] + 1});
      const bool swapped = i > 1 && j > 1 && Lower(a[i - 1]) == Lower(b[j - 2]) &&
                           Lower(a[i - 2]) == Lower(b[j - 1]);
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last.back();
}

}  // namespace

std::string FormatBytes(Bytes bytes) {
  static constexpr std::array<const char*, 7> kUnits = {"B",   "KiB", "MiB", "GiB",
                                                        "TiB", "PiB", "EiB"};
  if (std::abs(static_cast<double>(bytes.value())) < 1024) return StrCat(bytes.value(), " B");
  double amount = static_cast<double>(bytes.value());
  size_t unit = 0;
  while (std::abs(amount) >= 1024 && unit + 1 < kUnits.size()) {
    amount /= 1024;
    ++unit;
  }
  const int decimals = std::abs(amount) >= 1000 ? 0 : std::abs(amount) >= 100 ? 1 : 2;
  char text[48];
  std::snprintf(text, sizeof(text), "%.*f", decimals, amount);
  std::string out = text;
  if (out.find('.') != std::string::npos) {
    while (out.back() == '0') out.pop_back();
    if (out.back() == '.') out.pop_back();
  }
  return out + " " + kUnits[unit];
}

std::optional<int64_t> ParseInteger(std::string_view text) {
  int64_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<double> ParseDouble(std::string_view text) {
  double number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<Bytes> ParseBytes(std::string_view text) {
  text = Trim(text);
  const size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
  std::string unit;
  for (char c : Trim(text.substr(digits))) unit += Lower(c);
  static constexpr std::string_view kLetters = "kmgtpe";
  int power = 0;
  int64_t step = 1024;
  if (!unit.empty() && unit != "b") {
    const size_t letter = kLetters.find(unit[0]);
    if (letter == std::string_view::npos) return std::nullopt;
    const std::string_view rest = std::string_view(unit).substr(1);
    if (!rest.empty() && rest != "b" && rest != "ib") return std::nullopt;
    power = static_cast<int>(letter) + 1;
    if (rest == "b") step = 1000;
  }
  const std::string_view number = text.substr(0, digits);
  if (const auto whole = ParseInteger(number)) {
    Bytes bytes(*whole);
    for (int i = 0; i < power; ++i) bytes = bytes * step;
    return bytes.saturated() ? std::nullopt : std::optional(bytes);
  }
  const auto fraction = ParseDouble(number);
  if (!fraction || power == 0) return std::nullopt;
  const double amount = std::round(*fraction * std::pow(static_cast<double>(step), power));
  if (!(amount >= 0 && amount < 9.2e18)) return std::nullopt;
  return Bytes(static_cast<int64_t>(amount));
}

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::string_view Trim(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::optional<std::string> NearestName(std::string_view name,
                                       std::span<const std::string> candidates) {
  constexpr size_t kLongestCompared = 128;
  if (name.size() > kLongestCompared) return std::nullopt;
  const std::string* nearest = nullptr;
  size_t least = std::max<size_t>(1, name.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    if (candidate.size() > kLongestCompared) continue;
    const size_t edits = EditDistance(name, candidate);
    if (edits < least) {
      least = edits;
      nearest = &candidate;
    }
  }
  if (nearest == nullptr) return std::nullopt;
  return *nearest;
}

}  // namespace plimsoll
