#pragma once

#include "plimsoll/base/status.h"
#include "plimsoll/plan/memory_plan.h"
#include "plimsoll/plan/problem.h"

namespace plimsoll::plan {

// Whether a plan, from anywhere, keeps every promise of the problem: no two buffers share bytes
// while both live, offsets are aligned and inside their regions, every relation holds, areas that
// belong to somebody are used by nobody else, regions stay within their capacity. Shares no code
// with the assigners. The problem must be one that Validate accepts. The first promise found broken
// is named (kind kMismatch, code "verify..."; kDoesNotFit for a capacity). Near-linear on one
// stream and for disjoint buffers on several.
Status Verify(const Problem& problem, const MemoryPlan& plan);

}  // namespace plimsoll::plan
