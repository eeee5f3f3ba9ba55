#pragma once

#include "engine/run/executable.h"
#include "plimsoll/base/bytes.h"
#include "plimsoll/base/status.h"

namespace plimsoll::engine {

// What a run under observation showed of memory.
struct PoisonedRun {
  Bytes actual_peak;  // the highest byte of the feature map that changed, rounded up to 512
  // The most of the feature map that was handed out at one moment, in cells of 512 bytes.
  Bytes live_peak;
  bool wrote_outside = false;  // a byte before or behind the arena changed
};

// Runs once in an arena of its own that is full of NaN patterns (all bits set), and fills each
// buffer's place with them again whenever its life begins: whoever reads what nobody wrote gets
// NaN. Slow; for tests and reports.
Result<PoisonedRun> RunPoisoned(const Executable& executable, const Executable::Call& call);

}  // namespace plimsoll::engine
