#pragma once

#include <string>
#include <string_view>

#include "profile/record/event.h"

namespace plimsoll::profile {

// A recording in the trace-event format that Perfetto and chrome://tracing open: a process for each
// device, in it a track for each stream with its operators, counters (allocated, reserved, planned,
// resident, in bytes; the first two as in memory_record), and arrows from the operator that makes a
// tensor to the one that reads it last. Times are microseconds since the recorder was made.
std::string TraceJson(const Recording& recording, std::string_view device_type = "CPU");

}  // namespace plimsoll::profile
