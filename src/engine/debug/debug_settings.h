#pragma once

#include <memory>

#include "config/run_config.h"
#include "engine/debug/run_clock.h"

namespace plimsoll::engine {

// What a session writes for those who look for a mistake, and how long its work may take.
struct DebugSettings {
  config::DumpSettings dump;        // tensors of runs
  config::ExceptionDump exception;  // tensors of an operator that failed
  config::OomCheck oom;             // writes outside of tensors
  config::Timeouts timeouts;
  std::shared_ptr<RunClock> clock;  // null: the system's

  // Whether runs on one stream are looked at. Waits between streams count only where there are
  // several.
  bool any() const {
    return dump.enabled || dump.find_overflow || oom.enabled ||
           exception.mode != config::ExceptionDump::Mode::kOff || timeouts.op_execute ||
           timeouts.stream_sync || timeouts.event_sync;
  }

  static DebugSettings Of(const config::RunConfig& config) {
    return {.dump = config.dump,
            .exception = config.exception_dump,
            .oom = config.oom_check,
            .timeouts = config.timeouts,
            .clock = nullptr};
  }
};

}  // namespace plimsoll::engine
