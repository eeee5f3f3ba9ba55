#pragma once

#include <string>
#include <string_view>

#include "plimsoll/base/status.h"

namespace plimsoll::cli {

// A whole file as text; "-" is standard input. Missing, unreadable and folder are distinguished.
Result<std::string> ReadTextFile(const std::string& path);

// WriteFile of one part.
Status WriteTextFile(const std::string& path, std::string_view text);

}  // namespace plimsoll::cli
