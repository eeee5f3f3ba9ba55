#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plimsoll/base/bytes.h"
#include "plimsoll/plan/problem.h"

namespace plimsoll::plan {

// What one region takes.
struct RegionPlan {
  Bytes size = {};  // the waterline: the highest byte used by any buffer, at the region's alignment
  Bytes lower_bound = {};   // proven: no placement of this problem is lower
  bool optimal = false;     // proven: `size` is the least possible
  bool infeasible = false;  // proven: nothing fits into the region's capacity
};

// Bytes that one fill clears, and nobody but its members uses.
struct ClearingArea {
  RegionId region = {};
  int32_t atomic_addr_clean_id = kNoClearing;
  Offset offset = {};
  Bytes size = {};
};

// One large block that holds the contiguous groups of several batches, each batch's at the start of
// its row. Nobody else uses its bytes.
struct MergedBlock {
  RegionId region = {};
  Offset offset = {};
  Bytes size = {};
  std::vector<uint32_t> groups = {};  // indices into Problem::contiguous
};

// Something a reader of the plan should know of one buffer, or of the whole plan.
struct PlanNote {
  enum class Kind { kNoZeroCopy, kImmutableAddress, kMergedBatchesCost };
  Kind kind = Kind::kNoZeroCopy;
  BufferId buffer = {};  // none: the whole plan
  std::string text = {};
  Bytes bytes = {};  // the cost, where the kind has one
};

// Where every buffer lies, as plain data. Indices follow the tables of its Problem.
struct MemoryPlan {
  std::vector<Offset> offsets;      // one per buffer, from the base of its region
  std::vector<RegionPlan> regions;  // one per region
  std::vector<ClearingArea> clearing_areas;
  std::vector<MergedBlock> merged_blocks;
  std::vector<PlanNote> notes;
  std::string assigner;       // who made it
  bool deadline_hit = false;  // a deadline cut the search: another run may answer differently
  int64_t steps = 0;          // search steps spent

  Bytes total() const;        // sum of the regions' sizes
  Bytes lower_bound() const;  // sum of the regions' bounds
  bool optimal() const;       // every region is
  Bytes merged_size() const;  // sum of the merged blocks
  Bytes merged_cost() const;  // what merging added to the total (kMergedBatchesCost)
};

// As JSON and people read it.
const char* Name(PlanNote::Kind kind);

}  // namespace plimsoll::plan
