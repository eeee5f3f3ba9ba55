#include "plan/block_space.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace plimsoll::plan {

BlockSpace::BlockSpace(const BlockProblem& problem, const BlockRegion& region)
    : problem_(problem), region_(region), offsets_(region.blocks.size(), kNowhere) {
  if (!problem.lifetimes.one_line()) return;
  const std::vector<Block>& blocks = region.blocks;
  by_begin_.resize(blocks.size());
  std::iota(by_begin_.begin(), by_begin_.end(), 0u);
  std::sort(by_begin_.begin(), by_begin_.end(), [&](uint32_t a, uint32_t b) {
    return std::pair(blocks[a].whole.begin, a) < std::pair(blocks[b].whole.begin, b);
  });
  leaves_ = std::bit_ceil(std::max<size_t>(blocks.size(), 1));
  latest_end_.assign(2 * leaves_, -1);
  for (size_t i = 0; i < blocks.size(); ++i) {
    latest_end_[leaves_ + i] = blocks[by_begin_[i]].whole.end;
  }
  for (size_t node = leaves_ - 1; node > 0; --node) {
    latest_end_[node] = std::max(latest_end_[2 * node], latest_end_[2 * node + 1]);
  }
}

int64_t BlockSpace::LowestGap(uint32_t block, int64_t from) {
  forbidden_.clear();
  if (problem_.lifetimes.one_line()) {
    VisitLiving(block, 1, 0, leaves_);
  } else {
    for (uint32_t other = 0; other < offsets_.size(); ++other) ForbidNear(block, other);
  }
  std::sort(forbidden_.begin(), forbidden_.end());
  const int64_t alignment = region_.blocks[block].alignment;
  int64_t offset = Bytes(from).RoundUp(alignment).value();
  for (const auto& [low, high] : forbidden_) {
    if (low < offset && offset < high) offset = Bytes(high).RoundUp(alignment).value();
  }
  return offset;
}

void BlockSpace::VisitLiving(uint32_t block, size_t node, size_t first, size_t last) {
  const Piece& whole = region_.blocks[block].whole;
  if (first >= by_begin_.size() || latest_end_[node] <= whole.begin ||
      region_.blocks[by_begin_[first]].whole.begin >= whole.end) {
    return;
  }
  if (last - first == 1) return ForbidNear(block, by_begin_[first]);
  const size_t middle = (first + last) / 2;
  VisitLiving(block, 2 * node, first, middle);
  VisitLiving(block, 2 * node + 1, middle, last);
}

void BlockSpace::ForbidNear(uint32_t block, uint32_t placed) {
  if (offsets_[placed] == kNowhere || placed == block) return;
  ++comparisons_;
  for (const Piece& theirs : region_.PiecesOf(region_.blocks[placed])) {
    for (const Piece& ours : region_.PiecesOf(region_.blocks[block])) {
      if (!problem_.Together(ours, theirs)) continue;
      forbidden_.emplace_back(offsets_[placed] + theirs.low - ours.high,
                              offsets_[placed] + theirs.high - ours.low);
    }
  }
}

}  // namespace plimsoll::plan
