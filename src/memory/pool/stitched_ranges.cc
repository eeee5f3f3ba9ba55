#include "memory/pool/stitched_ranges.h"

#include <algorithm>
#include <utility>

#include "memory/pool/address_math.h"

namespace plimsoll::memory {
uint32_t StitchedRanges::Add(device::Address at, std::span<const ChunkSlot> chunks,
                             const ChunkMap& map) {
  Range range;
  range.at = at;
  range.chunks.assign(chunks.begin(), chunks.end());
  for (ChunkSlot slot : chunks) {
    const ChunkMap::Chunk& chunk = map.chunks[slot];
    range.size += chunk.size;
    if (!range.segments.empty() &&
        After(range.segments.back().start, range.segments.back().size) == chunk.home) {
      range.segments.back().size += chunk.size;
    } else {
      range.segments.push_back({chunk.home, chunk.size});
    }
  }
  auto number = static_cast<uint32_t>(ranges_.size());
  if (unused_.empty()) {
    ranges_.push_back(std::move(range));
  } else {
    number = unused_.back();
    unused_.pop_back();
    ranges_[number] = std::move(range);
  }
  by_age_.push_back(number);
  return number;
}

void StitchedRanges::Remove(device::Address at) {
  const auto found = std::find_if(by_age_.begin(), by_age_.end(),
                                  [&](uint32_t number) { return ranges_[number].at == at; });
  assert(found != by_age_.end() && ranges_[*found].blocks == 0);
  ranges_[*found] = Range();
  unused_.push_back(*found);
  by_age_.erase(found);
}

bool StitchedRanges::Find(int64_t size, std::span<const FreeRun> free, StitchPlan& plan) const {
  plan.missing = 0;
  plan.found = false;
  for (uint32_t number : by_age_) {
    const Range& range = ranges_[number];
    if (range.retired || range.size < size || !FindIn(range, size, free, plan)) continue;
    plan.range = number;
    plan.found = true;
    break;
  }
  return plan.found;
}

bool StitchedRanges::FindIn(const Range& range, int64_t size, std::span<const FreeRun> free,
                            StitchPlan& plan) const {
  plan.pieces.clear();
  int64_t found = 0;       // bytes of the pieces, which lie side by side in the range
  int64_t segment_at = 0;  // in the range
  for (const StitchPlan::Piece& segment : range.segments) {
    const device::Address end = After(segment.start, segment.size);
    auto run = std::upper_bound(
        free.begin(), free.end(), segment.start,
        [](device::Address at, const FreeRun& one) { return at < After(one.start, one.size); });
    for (; run != free.end() && run->start < end; ++run) {
      const device::Address from = std::max(run->start, segment.start);
      const int64_t bytes = Between(from, std::min(end, After(run->start, run->size)));
      const int64_t at = segment_at + Between(segment.start, from);
      if (found == 0 || plan.offset + found != at) {
        plan.pieces.clear();
        plan.offset = at;
        found = 0;
      }
      plan.pieces.push_back({from, std::min(bytes, size - found), run->extent});
      found += bytes;
      if (found >= size) return true;
    }
    segment_at += segment.size;
  }
  return false;
}

std::optional<device::Address> StitchedRanges::RetireOldest() {
  Range* oldest = nullptr;
  for (uint32_t number : by_age_) {
    Range& range = ranges_[number];
    if (range.retired || range.blocks > 0) continue;
    if (oldest == nullptr || range.used < oldest->used) oldest = &range;
  }
  if (oldest == nullptr) return std::nullopt;
  oldest->retired = true;
  return oldest->at;
}

}  // namespace plimsoll::memory
