#pragma once

#include "plimsoll/base/log.h"
#include "plimsoll/base/status.h"
#include "plimsoll/device/device_call.h"

namespace plimsoll::memory {

// Tells of memory that could not be given back where nobody is left to answer. A lost device has
// told its error to whoever met it first, and its memory is gone with it: that is not repeated.
inline void LogReleaseFailure(const Status& status, LogLevel level = LogLevel::kWarning) {
  if (status.ok() || status.error().code == device::kDeviceLost) return;
  Log(level, status.error().Text());
}

}  // namespace plimsoll::memory
