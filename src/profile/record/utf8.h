#pragma once

#include <string>
#include <string_view>

namespace plimsoll::profile {

// The text with U+FFFD in place of each byte that is no part of well-formed UTF-8: files of names
// come from anywhere, and those who read ours expect UTF-8.
std::string Utf8(std::string_view text);

}  // namespace plimsoll::profile
