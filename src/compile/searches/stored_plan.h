#pragma once

#include <string_view>

#include "compile/memory/assigner_choice.h"
#include "compile/searches/search_store.h"
#include "plimsoll/base/status.h"
#include "plimsoll/plan/assigner.h"

namespace plimsoll::compile {

// The plan of the assigner that `choice` names, verified; the store is asked first (null: there is
// none). What the store gives is taken only where it passes the verifier. Plans of assigners that a
// program registered, and those that a deadline cut short, are not kept.
Result<plan::MemoryPlan> AssignOnce(const plan::Problem& problem, const AssignerChoice& choice,
                                    std::string_view gear, int threads, const plan::Effort& effort,
                                    SearchStore* store);

}  // namespace plimsoll::compile
