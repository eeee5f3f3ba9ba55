#pragma once

#include "config/run_config.h"
#include "plimsoll/base/status.h"

namespace plimsoll::config {

// Refuses (config.device) a session_device_id that is no device here. Devices count from 0; not set
// is always right. Only who opens devices knows how many there are, so Resolve cannot check this.
Status CheckSessionDevice(const RunConfig& config, int device_count);

}  // namespace plimsoll::config
