#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "plan/assign/blocks.h"
#include "plan/problem/interval_index.h"

namespace plimsoll::plan {

// Places the blocks of one region one by one, whatever their shape, streams and batches. A block is
// compared with those whose lives may meet its own; the pairs are never stored. One thread; borrows
// both arguments.
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

  void IndexOneLine();
  void IndexStreams();
  void VisitOnStreams(uint32_t block);
  void ForbidNear(uint32_t block, uint32_t placed);
  void ForbidNearOnce(uint32_t block, uint32_t placed);

  const BlockProblem& problem_;
  const BlockRegion& region_;
  std::vector<int64_t> offsets_;
  // One line: the lives of the blocks. Several streams, by stream: their uses, and the steps that
  // are not in order with all uses of some piece. Two blocks that live together meet in one of the
  // two, seen from one of them.
  std::vector<IntervalIndex> uses_;
  std::vector<IntervalIndex> windows_;
  std::vector<uint32_t> exclusive_;  // several streams only
  std::vector<uint32_t> seen_;       // by block: the last search that met it
  uint32_t search_ = 0;
  std::vector<std::pair<int64_t, int64_t>> forbidden_;  // open intervals of offsets
  int64_t comparisons_ = 0;
};

}  // namespace plimsoll::plan
