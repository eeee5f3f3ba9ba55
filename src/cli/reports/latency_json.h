#pragma once

#include <vector>

#include "cli/answer.h"

namespace plimsoll::cli {

// Milliseconds of runs: "least", "p50", "p90", "p99". A percentile that so few runs cannot tell
// (p90 from fewer than 10, p99 from fewer than 100) is null.
Json LatencyJson(const std::vector<double>& milliseconds);

}  // namespace plimsoll::cli
