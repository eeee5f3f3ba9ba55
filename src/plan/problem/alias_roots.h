#pragma once

#include <vector>

#include "plimsoll/base/status.h"
#include "plimsoll/plan/problem.h"

namespace plimsoll::plan {

// A place inside another buffer.
struct BufferPlace {
  BufferId buffer = {};
  int64_t offset = 0;
};

// For every buffer the one that it is finally a window of (itself, when it is none), and where in
// it. Fails on a window that sticks out, has two owners, crosses regions, or owns itself in the
// end.
Result<std::vector<BufferPlace>> ResolveAliases(const Problem& problem);

}  // namespace plimsoll::plan
