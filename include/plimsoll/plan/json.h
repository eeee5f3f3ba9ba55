#pragma once

#include <string>
#include <string_view>

#include "plimsoll/base/status.h"
#include "plimsoll/plan/memory_plan.h"
#include "plimsoll/plan/problem.h"

namespace plimsoll::plan {

// A whole problem as text, every relation in it, and back: what is written reads as the same
// problem. Fields at their default are left out. docs: one object with the arrays "regions",
// "buffers", "aliases", "contiguous", "streams", "synchronisations" and "batches"; rows refer to
// each other by index, in the names of problem.h.
std::string WriteProblemJson(const Problem& problem);

// Refuses what is no such text with line and reason; hostile text costs no more than its size. The
// problem is not validated: assigners do that.
Result<Problem> ReadProblemJson(std::string_view text);

// A plan as text: offsets by buffer, regions, areas, notes. For people and tools; there is no
// reader.
std::string WritePlanJson(const MemoryPlan& plan, const Problem& problem);

}  // namespace plimsoll::plan
