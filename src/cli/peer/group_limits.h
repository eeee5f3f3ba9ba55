#pragma once

#include <optional>
#include <string>

#include "plimsoll/base/bytes.h"

namespace plimsoll::cli {

// What the groups of this process (cgroup, version 1 or 2) let it take: the least of its own group
// and of those above it. `root` replaces "/" for tests.
struct GroupLimits {
  std::optional<double> cores;
  std::optional<Bytes> memory;
};
GroupLimits ReadGroupLimits(const std::string& root = "/");

}  // namespace plimsoll::cli
