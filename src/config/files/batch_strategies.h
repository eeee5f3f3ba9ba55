#pragma once

#include <string>
#include <string_view>

#include "config/run_config.h"
#include "plimsoll/base/status.h"

namespace plimsoll::config {

// Reads ge.plimsoll.batchStrategies:
//
//   b0:useRange=1,ascendingSort=1;b1:search;batch=4,rows=128:block
//
// Batches between semicolons: a label, the last colon, and how its buffers are placed: by `search`,
// by `block` reuse as it is, or by block reuse with knobs (useRange, ascendingSort,
// reuseFirstRelease, memoryPriorityMode), each 0 or 1. No blanks. Each label and each of its knobs
// at most once. The error's `why` names the batch, counted from 1.
Result<BatchStrategies> ParseBatchStrategies(std::string_view text);

// The same grammar, labels and knobs in order.
std::string Text(const BatchStrategies& strategies);

}  // namespace plimsoll::config
