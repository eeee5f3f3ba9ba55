#pragma once

#include <cstdint>

#include "plimsoll/base/status.h"
#include "plimsoll/replay/trace.h"

namespace plimsoll::replay {

struct FaultSweepResult {
  int64_t runs = 0;
  int64_t recovered = 0;  // the trace completed in spite of the failure
  int64_t refused = 0;    // it ended in a clean error
};

// Replays the trace once for each device call that a faultless replay makes and each kind of error,
// with that call failing. After each run everything is freed and destroyed. Fails when a run left
// something behind on the device (chunks, ranges, mappings), when an error had no code, or when the
// allocator could not serve a small request afterwards.
Result<FaultSweepResult> SweepFaults(const Trace& trace, Bytes capacity);

}  // namespace plimsoll::replay
