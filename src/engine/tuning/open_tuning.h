#pragma once

#include "compile/tuning/tuning.h"
#include "config/run_settings.h"
#include "plimsoll/base/status.h"

namespace plimsoll::engine {

// Opens the repository where there is one to use: in modes 1 and 2, and whenever work_path is
// given. Fails as TuningRepository::Open does. Mode 4 is answered by a line in the log: there are
// no gradients to split in one process.
Result<compile::TuningOptions> OpenTuning(const config::AoeSettings& settings);

}  // namespace plimsoll::engine
