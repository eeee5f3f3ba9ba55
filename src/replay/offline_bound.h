#pragma once

#include "plimsoll/replay/trace.h"

namespace plimsoll::replay {

// What the static planner would need for the same lives, had it known them: the best of its greedy
// placements, sizes rounded as the allocator rounds them.
Bytes OfflineBound(const Trace& trace);

}  // namespace plimsoll::replay
