#include "plan/problem/live_sum.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "plan/assign/block_shape.h"

namespace plimsoll::plan {
namespace {

// Bytes that come to life (or, negative, die) at a moment, in one batch.
struct Change {
  int64_t moment;
  int64_t bytes;
  uint32_t batch;  // 0: every batch
};

uint32_t BatchSlot(BatchId batch) {
  return batch.valid() ? static_cast<uint32_t>(batch.index()) + 1 : 0;
}

void SortByMoment(std::vector<Change>& changes) {
  // What ends at a moment is gone before what begins there.
  std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
    return a.moment != b.moment ? a.moment < b.moment : a.bytes < b.bytes;
  });
}

// A sum per batch, and the largest of them at any time.
class LargestSum {
 public:
  explicit LargestSum(size_t batches)
      : leaves_(std::bit_ceil(batches + 1)), sums_(2 * leaves_, 0) {}
  void Add(uint32_t batch, int64_t bytes) {
    size_t node = leaves_ + batch;
    sums_[node] += bytes;
    for (node /= 2; node > 0; node /= 2) {
      sums_[node] = std::max(sums_[2 * node], sums_[2 * node + 1]);
    }
  }
  int64_t Largest() const { return sums_[1]; }

 private:
  size_t leaves_;
  std::vector<int64_t> sums_;
};

int64_t LargestLiveSum(std::vector<Change> changes, size_t batches, int64_t always) {
  SortByMoment(changes);
  LargestSum labelled(batches);
  int64_t common = always;
  int64_t largest = always;
  for (const Change& change : changes) {
    if (change.batch == 0) {
      common += change.bytes;
    } else {
      labelled.Add(change.batch, change.bytes);
    }
    largest = std::max(largest, common + labelled.Largest());
  }
  return largest;
}

void AddPiece(const Piece& piece, std::vector<Change>& changes) {
  if (piece.overstated || piece.begin == piece.end) return;
  const int64_t bytes = piece.high - piece.low;
  changes.push_back({piece.begin, bytes, BatchSlot(piece.batch)});
  changes.push_back({piece.end, -bytes, BatchSlot(piece.batch)});
}

int64_t OneLineSum(const BlockProblem& blocks, const BlockRegion& region) {
  std::vector<Change> changes;
  changes.reserve(2 * region.blocks.size());
  int64_t always = 0;
  for (const Block& block : region.blocks) {
    if (block.whole.exclusive) {
      always += block.size;
      continue;
    }
    for (const Piece& piece : region.PiecesOf(block)) AddPiece(piece, changes);
  }
  return LargestLiveSum(std::move(changes), blocks.problem->batches.size(), always);
}

// The uses of one stream alone are intervals on one line, and two that share a step never share
// bytes, whatever else the buffers do elsewhere.
int64_t StreamSum(const BlockProblem& blocks, const BlockRegion& region, StreamId stream) {
  std::vector<Change> changes;
  int64_t always = 0;
  std::vector<Piece> here;
  for (const Block& block : region.blocks) {
    if (block.whole.exclusive) {
      always += block.size;
      continue;
    }
    here.clear();
    for (const Piece& piece : region.PiecesOf(block)) {
      if (!piece.life.valid()) continue;
      const Buffer& buffer = blocks.problem->buffer(piece.life);
      const auto add = [&](const Use& use) {
        if (use.stream != stream || use.begin == use.end) return;
        here.push_back(piece);
        here.back().begin = static_cast<int32_t>(use.begin);
        here.back().end = static_cast<int32_t>(use.end);
      };
      add(buffer.life);
      for (const Use& use : buffer.elsewhere) add(use);
    }
    if (here.empty()) continue;
    for (const Piece& piece : DisjointPieces(here)) AddPiece(piece, changes);
  }
  return LargestLiveSum(std::move(changes), blocks.problem->batches.size(), always);
}

}  // namespace

int64_t LowerBound(const BlockProblem& blocks, const BlockRegion& region) {
  int64_t bound = 0;
  if (blocks.lifetimes.one_line()) {
    bound = OneLineSum(blocks, region);
  } else {
    const size_t streams = std::max<size_t>(blocks.problem->streams.size(), 1);
    for (size_t i = 0; i < streams; ++i) {
      bound = std::max(bound, StreamSum(blocks, region, StreamId(i)));
    }
  }
  for (const Block& block : region.blocks) {
    bound = std::max(bound, std::max<int64_t>(block.fixed, 0) + block.size);
  }
  return bound;
}

bool BatchesMeet(const BlockRegion& region) {
  std::vector<Change> changes;
  uint32_t batches = 0;
  for (const Block& block : region.blocks) {
    for (const Piece& piece : region.PiecesOf(block)) {
      if (!piece.batch.valid() || piece.exclusive || piece.begin == piece.end) continue;
      const uint32_t slot = BatchSlot(piece.batch);
      changes.push_back({piece.begin, 1, slot});
      changes.push_back({piece.end, -1, slot});
      batches = std::max(batches, slot);
    }
  }
  SortByMoment(changes);
  std::vector<int64_t> live(batches + 1, 0);
  int64_t distinct = 0;
  for (const Change& change : changes) {
    int64_t& count = live[change.batch];
    distinct -= count > 0;
    count += change.bytes;
    distinct += count > 0;
    if (distinct > 1) return true;
  }
  return false;
}

}  // namespace plimsoll::plan
