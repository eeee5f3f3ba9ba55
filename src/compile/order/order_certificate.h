#pragma once

#include "compile/memory/lifetimes.h"
#include "compile/memory/plan_draft.h"
#include "compile/passes/stable_values.h"
#include "graph/graph.h"

namespace plimsoll::compile {

// Whether the bytes that a draft's schedule counts are those that the plan counts in the feature
// map, whatever the order: then a bound on the schedule's peak bounds the plan's largest live sum
// as well. Not so where the schedule rounds more than the plan does, where a node carries bodies
// (whose bytes come and go while it runs), where nodes ask for memory of another kind or for
// addresses that stay, where there are several streams, and where memory of the caller's is lent.
bool CountsAsThePlanDoes(const graph::Graph& graph, const PlanDraft& draft,
                         const StableValues& stable, const LifetimeOptions& options);

}  // namespace plimsoll::compile
