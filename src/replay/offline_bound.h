#pragma once

#include "plimsoll/replay/trace.h"

namespace plimsoll::replay {

// What the static planner would need for the same lives, had it known them: its best
// packing within a fixed effort (plan/packing/best_packing.h), sizes rounded as the allocator
// rounds them. The same trace gives the same bytes; about a second for 250,000 blocks.
Bytes OfflineBound(const Trace& trace);

}  // namespace plimsoll::replay
