#pragma once

#include <memory>
#include <string>
#include <vector>

#include "plimsoll/plan/assigner.h"

namespace plimsoll::plan {

// Runs several assigners at once on one const problem and keeps, region by region, the lowest
// placement. Members share nothing but the problem, and ties go to the earlier member, so the
// answer is the same for any number of threads and never worse than any member's. Where the first
// member's is proven to be the lowest, or good enough for the effort, that is the answer. It is the
// one to use.
class HybridMemAssigner : public MemAssigner {
 public:
  using Members = std::vector<std::shared_ptr<const MemAssigner>>;

  // The members that the problem at hand calls for. `threads` 0: as many as the machine has.
  explicit HybridMemAssigner(int threads = 0, BatchPolicy policy = {});

  // Exactly these members; at least one.
  HybridMemAssigner(Members members, int threads, BatchPolicy policy = {});

  std::string name() const override { return "hybrid"; }
  BatchPolicy batch_policy() const override { return policy_; }
  Placement AssignMemoryWithReuse(const BlockProblem& blocks, const Budget& budget) const override;

 private:
  Members members_;
  int threads_;
  BatchPolicy policy_;
};

}  // namespace plimsoll::plan
