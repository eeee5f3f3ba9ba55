#pragma once

#include <cstdint>
#include <vector>

#include "graph/graph.h"
#include "plimsoll/base/status.h"

namespace plimsoll::compile {

struct CompiledModel;

// Nodes that follow each other in the order of the run and fall into branches that need nothing of
// each other, too small each to be worth all threads: a run may work at several branches at once.
struct SideBySide {
  int64_t first = 0;  // step of the plan's timeline
  std::vector<graph::NodeId> nodes;
  std::vector<int64_t> nanoseconds;  // of each node in one thread, estimated
};

// What a region of threads costs, in nanoseconds.
inline constexpr int64_t kRegionNanoseconds = 4'000;

// How long branches take in so many threads at once, the longest first to whoever is free, and who
// runs each.
struct BranchShares {
  int64_t nanoseconds = 0;
  std::vector<int> thread_of;  // by branch
};
BranchShares ShareOut(const std::vector<int64_t>& branches, int threads);

// Whether branches at once take clearly less time than their nodes one after the other, each in as
// many threads as it is worth.
bool IsWorthIt(const std::vector<int64_t>& nodes, const std::vector<int64_t>& branches,
               int threads);

// Finds such nodes in a model that is planned on one stream, for `model.threads` threads, and plans
// its memory again so that what branches touch lives as long as all of them: only where the peak
// does not rise by that. Sets model.side_by_side. The order of the run stays.
//
// Near-linear in the nodes, and packing once or twice more where something was found.
Status PlanSideBySide(CompiledModel& model);

}  // namespace plimsoll::compile
