#pragma once

#include <optional>
#include <string>

#include "plimsoll/base/bytes.h"

namespace plimsoll::cli {

// What the groups of this process (cgroup, version 1 or 2) let it take. `root` replaces "/" for
// tests.
struct GroupLimits {
  std::optional<double> cores;
  std::optional<Bytes> memory;
};
GroupLimits ReadGroupLimits(const std::string& root = "/");

// The cores that this process may use: those that it is bound to, and no more than its groups'
// limit, rounded up.
int UsableCores();

}  // namespace plimsoll::cli
