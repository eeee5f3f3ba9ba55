#pragma once

#include "kernels/cpu/elementwise/elementwise.h"

namespace plimsoll::kernels::cpu {

// The loop over the widest vectors of the machine for a pair of types that models cast between;
// null for others. Floats go to integers by ToInt64, and are cut to the low bits.
UnaryLoop FindVectorCast(graph::DataType from, graph::DataType to);

}  // namespace plimsoll::kernels::cpu
