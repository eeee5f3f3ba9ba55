#pragma once

#include <cstdint>
#include <limits>
#include <optional>

#include "graph/infer_context.h"

namespace plimsoll::graph::operators {

// More iterations than any loop has.
inline constexpr int64_t kEndless = std::numeric_limits<int64_t>::max();

// How many iterations of a Loop there are until its body's condition is false for the first time,
// that iteration included, where the condition compares counters with numbers that are known: a
// counter begins with a known number and goes up by another in each iteration. Nothing where that
// is not known; kEndless where the condition is always true. The body has been inferred.
std::optional<int64_t> CountIterations(const InferContext& context, SubgraphId body);

}  // namespace plimsoll::graph::operators
