#pragma once

#include "kernels/kernel.h"

namespace plimsoll::kernels::cpu {

// Cast from or to strings. Numbers are written in the shortest form that reads back as the same
// number, bools as 0 and 1, and the special values as INF, -INF and NaN. Text that is no number
// fails the run.
Result<KernelPointer> MakeTextCast(const KernelSite& site);

}  // namespace plimsoll::kernels::cpu
