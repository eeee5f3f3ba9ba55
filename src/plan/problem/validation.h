#pragma once

#include "plimsoll/plan/problem.h"

namespace plimsoll::plan {

// Sums of sizes and paddings stay below this, so that offsets never overflow.
inline constexpr int64_t kLargestSum = int64_t{1} << 61;
inline constexpr int64_t kLargestAlignment = int64_t{1} << 40;
inline constexpr int64_t kMostSteps = int64_t{1} << 30;  // of one stream

// The part of Validate that looks at each row alone: ids within their tables, sizes, alignments and
// lives that make sense, flags that go together. Linear.
Status ValidateTables(const Problem& problem);

}  // namespace plimsoll::plan
