#pragma once

#include <string>

#include "plan/assign/blocks.h"
#include "plan/packing/one_thread.h"
#include "plan/packing/region_placement.h"
#include "plimsoll/base/status.h"
#include "plimsoll/plan/memory_plan.h"

namespace plimsoll::plan {

// The two ends of planning, before and after the assigners' threads: from a Problem to blocks, and
// from the chosen placement to a MemoryPlan. One thread only; debug builds detect a second.
class PlanBuilder {
 public:
  explicit PlanBuilder(const Problem& problem) : problem_(problem) {}

  // Checks the problem, reduces it to blocks, and settles what no assigner may choose: fixed
  // offsets (which must not collide), immutable addresses, and zero-copy blocks.
  Status PreAssign(const BatchPolicy& policy);

  // What the planning threads share. Only after PreAssign.
  const BlockProblem& blocks() const { return blocks_; }

  // Writes the offset of every buffer. Only after all planning threads are done.
  void SetOpMemOffset(const Placement& placement);

  // The plan, with its notes. Only after SetOpMemOffset.
  MemoryPlan Take(std::string assigner);

 private:
  Status SettleFixed(BlockRegion& region);
  void AddNotes();

  const Problem& problem_;
  BlockProblem blocks_;
  MemoryPlan plan_;
  OneThread thread_;
};

}  // namespace plimsoll::plan
