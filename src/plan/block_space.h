#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "plan/blocks.h"

namespace plimsoll::plan {

// Places the blocks of one region one by one, whatever their shape, streams and batches. On one
// line a block is compared with the blocks that live when it does, on several streams with all; the
// pairs are never stored. One thread; borrows both arguments.
class BlockSpace {
 public:
  BlockSpace(const BlockProblem& problem, const BlockRegion& region);

  // The lowest aligned offset, at least `from`, at which the block meets nothing placed so far.
  int64_t LowestGap(uint32_t block, int64_t from = 0);

  void Place(uint32_t block, int64_t offset) { offsets_[block] = offset; }
  void Clear() { offsets_.assign(offsets_.size(), kNowhere); }

  // Comparisons of two blocks made so far: what the work costs.
  int64_t comparisons() const { return comparisons_; }

 private:
  static constexpr int64_t kNowhere = -1;

  void ForbidNear(uint32_t block, uint32_t placed);
  void VisitLiving(uint32_t block, size_t node, size_t first, size_t last);

  const BlockProblem& problem_;
  const BlockRegion& region_;
  std::vector<int64_t> offsets_;
  std::vector<uint32_t> by_begin_;
  size_t leaves_ = 1;
  std::vector<int32_t> latest_end_;                     // by node of a tree over by_begin_
  std::vector<std::pair<int64_t, int64_t>> forbidden_;  // open intervals of offsets
  int64_t comparisons_ = 0;
};

}  // namespace plimsoll::plan
