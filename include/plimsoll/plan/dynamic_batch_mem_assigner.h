#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "plimsoll/plan/assigner.h"
#include "plimsoll/plan/block_mem_assigner.h"

namespace plimsoll::plan {

// A merged block of contiguous groups does not grow beyond this: 400 MB.
inline constexpr int64_t kMaxSplitSizeForDynamicBatch = int64_t{400} << 20;

// How each batch is placed.
struct DynamicBatchOptions {
  BatchPolicy policy = {};
  std::map<std::string, BatchStrategy> strategies = {};  // by label
  BatchStrategy others = {};  // of batches that `strategies` does not name, and of what all share
};

// For problems with batch labels, of which only one runs at a time. First the batch that needs most
// is placed together with what belongs to every batch; then each other batch is placed around the
// latter, over the areas of the batches before it. Without labels it does what "exact" does.
class DynamicBatchMemAssigner : public RegionMemAssigner {
 public:
  explicit DynamicBatchMemAssigner(DynamicBatchOptions options = {})
      : options_(std::move(options)) {}
  std::string name() const override { return "dynamic_batch"; }
  BatchPolicy batch_policy() const override { return options_.policy; }

 private:
  RegionPlacement PlaceRegion(const BlockProblem& blocks, const BlockRegion& region,
                              const Budget& budget) const override;

  DynamicBatchOptions options_;
};

}  // namespace plimsoll::plan
