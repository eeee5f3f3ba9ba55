#pragma once

#include "plimsoll/base/status.h"
#include "profile/report_data.h"

namespace plimsoll::cli {

using MachineSpeed = profile::ReportMachine;

// What this machine reaches with so many threads, measured in a fraction of a second: by plain
// copies, and by our product of two large float matrices.
Result<MachineSpeed> MeasureMachineSpeed(int threads);

}  // namespace plimsoll::cli
