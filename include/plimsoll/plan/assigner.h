#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "plimsoll/base/status.h"
#include "plimsoll/plan/block_reuse_knobs.h"
#include "plimsoll/plan/memory_plan.h"
#include "plimsoll/plan/problem.h"

namespace plimsoll::plan {

struct BlockProblem;
struct BlockRegion;
struct Budget;
struct Placement;
struct RegionPlacement;

// How hard to try. Steps count search work, not time, so the same effort gives the same plan on any
// machine and with any number of threads. A deadline only ever cuts short, and the plan says so.
struct Effort {
  int64_t steps = 100'000;
  double deadline_ms = 0;         // 0: none
  bool stop_at_capacity = false;  // be content with any plan within the regions' capacities
  double good_enough = 0;         // be content with at most this share above the lower bound
  const std::atomic<bool>* stop = nullptr;  // true: cut the search, as the deadline does
};

// What to do with buffers that carry a batch label, beyond letting batches overlay each other.
struct BatchPolicy {
  // Contiguous groups of different batches form large blocks that nobody else uses; the plan tells
  // the bytes that this costs.
  bool merge_continuous = true;
  // Labelled buffers share bytes with nobody, neither within their batch nor with another.
  bool no_reuse = false;
};

// Decides where the buffers of a problem lie. The problem is const throughout: planning changes
// nothing but the plan that it returns. An assigner has no state; any number of threads may use
// one.
class MemAssigner {
 public:
  virtual ~MemAssigner() = default;
  virtual std::string name() const = 0;

  // A plan for the whole problem, within its effort; fails only on a problem that Validate refuses.
  // A region may come out larger than its capacity: compare, or Verify. Not yet verified.
  Result<MemoryPlan> Assign(const Problem& problem, const Effort& effort = {}) const;

  // The part between PreAssign and SetOpMemOffset: places the blocks of all regions.
  // HybridMemAssigner calls it from several threads at once.
  virtual Placement AssignMemoryWithReuse(const BlockProblem& blocks,
                                          const Budget& budget) const = 0;

  virtual BatchPolicy batch_policy() const { return {}; }

 private:
  Result<MemoryPlan> AssignUnder(const BatchPolicy& policy, const Problem& problem,
                                 const Budget& budget) const;
};

// An assigner that plans each region separately.
class RegionMemAssigner : public MemAssigner {
 public:
  Placement AssignMemoryWithReuse(const BlockProblem& blocks, const Budget& budget) const final;

 private:
  // Only for regions with something left to choose.
  virtual RegionPlacement PlaceRegion(const BlockProblem& blocks, const BlockRegion& region,
                                      const Budget& budget) const = 0;
};

// The names that MakeAssigner knows, the default ("hybrid") first, those that were registered last.
std::vector<std::string> AssignerNames();

// What MakeAssigner hands to the assigners that have such a choice; the others do not look at it.
struct AssignerOptions {
  int threads = 0;                   // of "hybrid"; 0: as many as the machine has
  BlockReuseKnobs block_reuse = {};  // of "block"
  BatchPolicy batches = {};          // of all
  // Of "dynamic_batch": by label, and for the batches without one of their own.
  std::map<std::string, BatchStrategy> batch_strategies = {};
  BatchStrategy other_batches = {};
};

// An assigner by its name; an unknown name is refused with the nearest one.
Result<std::unique_ptr<MemAssigner>> MakeAssigner(std::string_view name,
                                                  const AssignerOptions& options);
Result<std::unique_ptr<MemAssigner>> MakeAssigner(std::string_view name, int threads = 0);

// Whether the name is that of an assigner of ours, whose plans depend on nothing but its arguments.
bool IsBuiltInAssigner(std::string_view name);

// Makes an assigner.
using AssignerFactory = std::function<std::unique_ptr<MemAssigner>(const AssignerOptions& options)>;

// Makes an assigner of the program's own (custom_mem_assigner.h) known by a name. One table for the
// process. A name that is taken, or empty, is refused (plan.assigner_name). Thread-safe.
Status RegisterAssigner(std::string name, AssignerFactory factory);

}  // namespace plimsoll::plan
