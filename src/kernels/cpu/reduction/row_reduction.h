#pragma once

#include <string_view>

#include "kernels/cpu/reduction/axis_groups.h"
#include "kernels/cpu/vector/fold_rows.h"
#include "kernels/kernel.h"

namespace plimsoll::kernels::cpu {

// So many rows are summed before they join the total: errors grow less.
inline constexpr int64_t kRowsInOne = 64;

// Each of `count` neighbouring columns, which begin at x, over all folded places. At most
// kMostColumns of them.
inline constexpr int64_t kMostColumns = 1024;
void SumColumns(RowFold rows, const AxisGroups& groups, const float* x, int64_t count,
                float* totals);

// The kernel of a reduction over vectors; null for operators and types that have none.
KernelPointer MakeRowReduction(std::string_view op, graph::DataType type, const AxisGroups& groups);

}  // namespace plimsoll::kernels::cpu
