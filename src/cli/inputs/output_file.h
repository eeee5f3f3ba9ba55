#pragma once

#include <span>
#include <string>
#include <string_view>

#include "plimsoll/base/status.h"

namespace plimsoll::cli {

// Where a write to the path ends up: links are followed, also one that leads to a file still to be
// made.
std::string LinkTarget(const std::string& path);

// Writes a file, whole or not at all: a failure leaves what was there before. "-" is standard
// output. A symbolic link stays, and what it leads to is written. What is no regular file (a FIFO,
// a terminal, /dev/null) is written into, never replaced.
Status WriteFile(const std::string& path, std::span<const std::string_view> parts);

}  // namespace plimsoll::cli
