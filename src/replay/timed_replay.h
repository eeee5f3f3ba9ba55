#pragma once

#include "plimsoll/replay/replay.h"
#include "replay/cycle_clock.h"

namespace plimsoll::replay {

// Replay with a clock of the caller's.
Result<ReplayResult> TimedReplay(const Trace& trace, const ReplayOptions& options,
                                 PairClock& clock);

}  // namespace plimsoll::replay
