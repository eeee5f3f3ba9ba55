#pragma once

#include <string>
#include <string_view>

namespace plimsoll::profile {

// Appends the text as a JSON string that is safe inside an HTML script element: quotes,
// backslashes, control characters, <, >, &, U+2028 and U+2029 are escaped; bytes that are no UTF-8
// become U+FFFD.
void AppendJsonString(std::string& out, std::string_view text);

}  // namespace plimsoll::profile
