#pragma once

#include "plimsoll/base/status.h"

namespace plimsoll::cli {

// What this machine reaches with so many threads, measured in a fraction of a second: the roofs
// under which operators run.
struct MachineSpeed {
  double bytes_per_second = 0;       // read and written, by plain copies
  double operations_per_second = 0;  // by our product of two large float matrices
};

Result<MachineSpeed> MeasureMachineSpeed(int threads);

}  // namespace plimsoll::cli
