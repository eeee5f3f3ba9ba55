#pragma once

#include <cstdint>

#include "plan/assign/blocks.h"

namespace plimsoll::plan {

// The largest sum of bytes that must be held at one moment in one batch, and no less than the top
// of any block with a fixed offset: no placement of the region is lower. On several streams: the
// largest such sum along one stream. Near-linear.
int64_t LowerBound(const BlockProblem& blocks, const BlockRegion& region);

// Whether blocks of different batches live at the same moment, so that labels make a difference.
// For lives on one line.
bool BatchesMeet(const BlockRegion& region);

}  // namespace plimsoll::plan
