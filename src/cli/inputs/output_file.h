#pragma once

#include <span>
#include <string>
#include <string_view>

#include "plimsoll/base/status.h"

namespace plimsoll::cli {

// Writes a file, whole or not at all: a failure leaves what was there before. "-" is standard
// output. A symbolic link stays, and what it leads to is written. What is no regular file (a FIFO,
// a terminal, /dev/null) is written into, never replaced.
Status WriteFile(const std::string& path, std::span<const std::string_view> parts);

}  // namespace plimsoll::cli
