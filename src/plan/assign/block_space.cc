#include "plan/assign/block_space.h"

#include <algorithm>

namespace plimsoll::plan {

BlockSpace::BlockSpace(const BlockProblem& problem, const BlockRegion& region)
    : problem_(problem),
      region_(region),
      offsets_(region.blocks.size(), kNowhere),
      seen_(region.blocks.size(), 0) {
  problem.lifetimes.one_line() ? IndexOneLine() : IndexStreams();
}

void BlockSpace::IndexOneLine() {
  std::vector<IntervalIndex::Entry> lives;
  for (uint32_t i = 0; i < region_.blocks.size(); ++i) {
    const Block& block = region_.blocks[i];
    if (!block.idle()) lives.push_back({block.whole.begin, block.whole.end, i});
  }
  uses_.emplace_back(std::move(lives));
}

void BlockSpace::IndexStreams() {
  const size_t streams = problem_.lifetimes.streams();
  std::vector<std::vector<IntervalIndex::Entry>> uses(streams);
  std::vector<std::vector<IntervalIndex::Entry>> windows(streams);
  for (uint32_t i = 0; i < region_.blocks.size(); ++i) {
    const Block& block = region_.blocks[i];
    if (block.idle()) continue;
    if (block.whole.exclusive) {
      exclusive_.push_back(i);
      continue;
    }
    for (const Piece& piece : region_.PiecesOf(block)) {
      for (const StreamSpan& use : problem_.lifetimes.Uses(piece.life)) {
        uses[use.stream].push_back({use.begin, use.end, i});
      }
      for (uint32_t s = 0; s < streams; ++s) {
        const StreamSpan window = problem_.lifetimes.Window(piece.life, s);
        windows[s].push_back({window.begin, window.end, i});
      }
    }
  }
  for (auto& entries : uses) uses_.emplace_back(std::move(entries));
  for (auto& entries : windows) windows_.emplace_back(std::move(entries));
}

int64_t BlockSpace::LowestGap(uint32_t block, int64_t from) {
  forbidden_.clear();
  const Piece& whole = region_.blocks[block].whole;
  if (problem_.lifetimes.one_line()) {
    uses_.front().Meeting(whole.begin, whole.end,
                          [&](uint32_t other) { ForbidNear(block, other); });
  } else if (whole.exclusive) {
    for (uint32_t other = 0; other < offsets_.size(); ++other) ForbidNear(block, other);
  } else {
    VisitOnStreams(block);
  }
  std::sort(forbidden_.begin(), forbidden_.end());
  const int64_t alignment = region_.blocks[block].alignment;
  int64_t offset = Bytes(from).RoundUp(alignment).value();
  for (const auto& [low, high] : forbidden_) {
    if (low < offset && offset < high) offset = Bytes(high).RoundUp(alignment).value();
  }
  return offset;
}

void BlockSpace::VisitOnStreams(uint32_t block) {
  ++search_;
  const Lifetimes& lifetimes = problem_.lifetimes;
  const auto visit = [&](uint32_t other) { ForbidNearOnce(block, other); };
  for (const uint32_t other : exclusive_) ForbidNearOnce(block, other);
  for (const Piece& piece : region_.PiecesOf(region_.blocks[block])) {
    for (const StreamSpan& use : lifetimes.Uses(piece.life)) {
      windows_[use.stream].Meeting(use.begin, use.end, visit);
    }
    for (uint32_t s = 0; s < lifetimes.streams(); ++s) {
      const StreamSpan window = lifetimes.Window(piece.life, s);
      uses_[s].Meeting(window.begin, window.end, visit);
    }
  }
}

void BlockSpace::ForbidNearOnce(uint32_t block, uint32_t placed) {
  if (seen_[placed] == search_) return;
  seen_[placed] = search_;
  ForbidNear(block, placed);
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
