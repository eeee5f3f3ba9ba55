#include "plimsoll/plan/memory_plan.h"

#include <algorithm>

namespace plimsoll::plan {

Bytes MemoryPlan::total() const {
  Bytes sum;
  for (const RegionPlan& region : regions) sum += region.size;
  return sum;
}

Bytes MemoryPlan::lower_bound() const {
  Bytes sum;
  for (const RegionPlan& region : regions) sum += region.lower_bound;
  return sum;
}

bool MemoryPlan::optimal() const {
  return std::all_of(regions.begin(), regions.end(),
                     [](const RegionPlan& region) { return region.optimal; });
}

Bytes MemoryPlan::merged_size() const {
  Bytes sum;
  for (const MergedBlock& block : merged_blocks) sum += block.size;
  return sum;
}

Bytes MemoryPlan::merged_cost() const {
  Bytes sum;
  for (const PlanNote& note : notes) {
    if (note.kind == PlanNote::Kind::kMergedBatchesCost) sum += note.bytes;
  }
  return sum;
}

const char* Name(PlanNote::Kind kind) {
  switch (kind) {
    case PlanNote::Kind::kNoZeroCopy:
      return "no_zero_copy";
    case PlanNote::Kind::kImmutableAddress:
      return "immutable_address";
    case PlanNote::Kind::kMergedBatchesCost:
      return "merged_batches_cost";
  }
  return "unknown";
}

}  // namespace plimsoll::plan
