#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plimsoll/base/bytes.h"
#include "plimsoll/base/status.h"

// Traces of what a program asked of its allocator.
namespace plimsoll::replay {

// One line of a trace. Ids and streams are dense: 0, 1, ... in order of first appearance.
struct TraceEvent {
  enum class Kind : uint8_t { kAllocate, kFree, kCompleted };  // a, f, c
  Kind kind = Kind::kAllocate;
  uint32_t block = 0;
  uint32_t stream = 0;
  Bytes bytes;
  int64_t time_us = 0;
};

// A recording of allocations, in order.
struct Trace {
  std::vector<TraceEvent> events;
  uint32_t blocks = 0;
  uint32_t streams = 0;

  int64_t DurationUs() const;
  Bytes PeakAllocated() const;  // requested bytes from 'a' to 'f'
};

// Reads "event,id,bytes,stream,time_us". Every id is allocated once, then freed at most once, then
// completed at most once; anything else is kBadFile with the line ("replay.bad_trace"). A memory
// snapshot of PyTorch (a pickle, of which nothing is executed) is read too; blocks that are older
// than its recording live from its beginning.
Result<Trace> ParseTrace(std::string_view text, std::string_view name);
Result<Trace> ReadTrace(const std::string& path);  // not packed

}  // namespace plimsoll::replay
