#include "cli/inputs/npy_text.h"

#include <algorithm>
#include <array>
#include <vector>

#include "engine/debug/npy_format.h"
#include "plimsoll/base/text.h"

namespace plimsoll::cli {
namespace {

constexpr int64_t kWidest = 1 << 24;
constexpr uint32_t kLastCodePoint = 0x10FFFF;

void AppendUtf8(uint32_t point, std::string& text) {
  const auto tail = [&](int shift) {
    text += static_cast<char>(0x80U | ((point >> shift) & 0x3FU));
  };
  if (point < 0x80) {
    text += static_cast<char>(point);
  } else if (point < 0x800) {
    text += static_cast<char>(0xC0U | (point >> 6U));
    tail(0);
  } else if (point < 0x10000) {
    text += static_cast<char>(0xE0U | (point >> 12U));
    tail(6);
    tail(0);
  } else {
    text += static_cast<char>(0xF0U | (point >> 18U));
    tail(12);
    tail(6);
    tail(0);
  }
}

// Code points of UTF-8; nothing where it is none.
std::optional<std::vector<uint32_t>> CodePoints(std::string_view text) {
  std::vector<uint32_t> points;
  for (size_t i = 0; i < text.size();) {
    const auto first = static_cast<unsigned char>(text[i]);
    const size_t length = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    const bool starts = first < 0x80 || (first >= 0xC2 && first < 0xF5);
    if (!starts || i + length > text.size()) return std::nullopt;
    uint32_t point = length == 1 ? first : first & (0x7FU >> length);
    for (size_t k = 1; k < length; ++k) {
      const auto next = static_cast<unsigned char>(text[i + k]);
      if ((next & 0xC0U) != 0x80) return std::nullopt;
      point = (point << 6U) | (next & 0x3FU);
    }
    if (point > kLastCodePoint) return std::nullopt;
    points.push_back(point);
    i += length;
  }
  return points;
}

uint32_t PointAt(const char* bytes, const NpyText& text) {
  if (text.letter_bytes == 1) return static_cast<unsigned char>(*bytes);
  uint32_t point = 0;
  for (size_t i = 0; i < 4; ++i) {
    const auto byte = static_cast<unsigned char>(bytes[text.swapped ? i : 3 - i]);
    point = point << 8U | byte;
  }
  return point;
}

}  // namespace

std::optional<NpyText> ParseNpyText(std::string_view descr) {
  if (descr.size() < 3) return std::nullopt;
  const bool points = descr[1] == 'U' && (descr[0] == '<' || descr[0] == '>' || descr[0] == '=');
  if (!points && !descr.starts_with("|S")) return std::nullopt;
  const auto width = ParseInteger(descr.substr(2));
  if (!width || *width < 1 || *width > kWidest) return std::nullopt;
  return NpyText{.width = *width, .letter_bytes = points ? 4 : 1, .swapped = descr[0] == '>'};
}

bool ReadNpyText(std::istream& in, const NpyText& text, kernels::HostTensor& strings) {
  auto* elements = static_cast<std::string*>(strings.data.get());
  std::string bytes(static_cast<size_t>(text.element_bytes()), '\0');
  for (int64_t i = 0; i < strings.elements(); ++i) {
    if (!in.read(bytes.data(), text.element_bytes())) return false;
    std::vector<uint32_t> points;
    for (int64_t at = 0; at < text.element_bytes(); at += text.letter_bytes) {
      points.push_back(PointAt(bytes.data() + at, text));
      if (points.back() > kLastCodePoint) return false;
    }
    while (!points.empty() && points.back() == 0) points.pop_back();
    if (text.letter_bytes == 1) {
      elements[i].assign(points.begin(), points.end());  // bytes as they are
    } else {
      for (const uint32_t point : points) AppendUtf8(point, elements[i]);
    }
  }
  return true;
}

std::optional<std::string> NpyTextFile(const kernels::HostTensor& strings) {
  const auto* elements = static_cast<const std::string*>(strings.data.get());
  std::vector<std::vector<uint32_t>> rows;
  size_t width = 1;
  for (int64_t i = 0; i < strings.elements(); ++i) {
    auto points = CodePoints(elements[i]);
    if (!points) return std::nullopt;
    width = std::max(width, points->size());
    rows.push_back(std::move(*points));
  }
  std::string file = engine::NpyHeaderOf(StrCat("<U", width), strings.dims);
  for (auto& row : rows) {
    row.resize(width);
    for (const uint32_t point : row) {
      for (const unsigned shift : {0U, 8U, 16U, 24U}) file += static_cast<char>(point >> shift);
    }
  }
  return file;
}

}  // namespace plimsoll::cli
