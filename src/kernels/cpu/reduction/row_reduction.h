#pragma once

#include <string_view>

#include "kernels/cpu/reduction/axis_groups.h"
#include "kernels/kernel.h"

namespace plimsoll::kernels::cpu {

// The kernel of a reduction over vectors; null for operators and types that have none.
KernelPointer MakeRowReduction(std::string_view op, graph::DataType type, const AxisGroups& groups);

}  // namespace plimsoll::kernels::cpu
