#include "profile/json_text.h"

#include <cstdint>

#include "profile/record/utf8.h"

namespace plimsoll::profile {
namespace {

void AppendEscape(std::string& out, unsigned character) {
  constexpr char kDigits[] = "0123456789abcdef";
  out += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) out += kDigits[(character >> shift) & 15];
}

}  // namespace

void AppendJsonString(std::string& out, std::string_view text) {
  const std::string well_formed = Utf8(text);
  std::string_view rest = well_formed;
  out += '"';
  while (!rest.empty()) {
    const auto first = static_cast<uint8_t>(rest.front());
    if (rest.starts_with("\xE2\x80\xA8") || rest.starts_with("\xE2\x80\xA9")) {
      AppendEscape(out, rest[2] == '\xA8' ? 0x2028 : 0x2029);
      rest.remove_prefix(3);
      continue;
    }
    if (first == '"' || first == '\\') out += '\\';
    if (first < 0x20 || first == '<' || first == '>' || first == '&' || first == 0x7F) {
      AppendEscape(out, first);
    } else {
      out += rest.front();
    }
    rest.remove_prefix(1);
  }
  out += '"';
}

}  // namespace plimsoll::profile
