#include "onnx/wire/source.h"

#include <algorithm>
#include <utility>

#include "plimsoll/base/text.h"

namespace plimsoll::onnx {

std::string Source::At(const std::byte* place) const {
  return StrCat(file, ": byte ", place - bytes.data());
}

std::string Source::At(std::string_view place) const { return StrCat(file, ": ", place); }

Error Source::BadFile(std::string code, std::string where, std::string why,
                      std::string remedy) const {
  return {ErrorKind::kBadFile, std::move(code), what,
          std::move(where),    std::move(why),  std::move(remedy)};
}

Error Source::Unsupported(std::string code, std::string where, std::string why,
                          std::string remedy) const {
  return {ErrorKind::kUnsupported, std::move(code), what,
          std::move(where),        std::move(why),  std::move(remedy)};
}

std::string Printable(std::string_view name) {
  constexpr size_t kLongest = 96;
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string out;
  for (const char c : name.substr(0, kLongest)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f) {
      out += c;
    } else {
      out += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  return name.size() > kLongest ? out + "..." : out;
}

std::string Quote(std::string_view name) { return StrCat("'", Printable(name), "'"); }

Budget::Budget(const Source& source)
    : source_(source),
      most_(std::clamp(Bytes(static_cast<int64_t>(source.bytes.size())) * kMaxTablesAByte,
                       kMaxTables, kMaxTablesOfAny)) {}

Status Budget::Spend(size_t bytes) {
  spent_ += Bytes(static_cast<int64_t>(bytes));
  if (spent_ <= most_) return {};
  return source_.BadFile(
      "onnx.limit", source_.file,
      StrCat("its nodes, values and attributes take more than ", most_, " without weights"),
      "a real model needs far less: the file is broken or hostile");
}

}  // namespace plimsoll::onnx
