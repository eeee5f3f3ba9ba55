#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plimsoll/base/log.h"

namespace plimsoll {

// The lines of level error since it was made.
class ErrorLines {
 public:
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  std::vector<std::string> lines_;
  LogCapture capture_{[this](LogLevel level, std::string_view line) {
    if (level == LogLevel::kError) lines_.emplace_back(line);
  }};
};

}  // namespace plimsoll
