#pragma once

#include <string_view>

#include "kernels/cpu/reduction/axis_groups.h"
#include "kernels/kernel.h"

namespace plimsoll::kernels::cpu {

// The kernel of a reduction of float32 over vectors; null for operators that have none.
KernelPointer MakeFloatReduction(std::string_view op, const AxisGroups& groups);

}  // namespace plimsoll::kernels::cpu
