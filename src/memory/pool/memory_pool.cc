#include "memory/pool/memory_pool.h"

#include <algorithm>
#include <utility>

#include "memory/pool/address_math.h"

namespace plimsoll::memory {
namespace {

// Blocks of less than this share of a slab come from slabs: what is left over at its end is then
// less than that.
constexpr int64_t kSlabShare = 8;
constexpr int64_t kSmallestExtent = 512;

}  // namespace

MemoryPool::MemoryPool(Bytes granularity, Bytes slab)
    : slab_size_(std::max(slab, granularity).value()),
      small_limit_(slab_size_ / kSlabShare),
      large_(extents_),
      small_(extents_) {}

ExtentIndex MemoryPool::TakeSmall(int64_t size) {
  ExtentIndex found = small_.Take(size);
  if (found != kNoExtent) {
    if (found == kept_slab_) kept_slab_ = kNoExtent;
    return found;
  }
  const ExtentIndex slab = large_.Take(slab_size_);
  if (slab == kNoExtent) return kNoExtent;
  small_.Add(extents_[slab].start, slab_size_, kNoExtent, kNoExtent, slab);
  return small_.Take(size);
}

void MemoryPool::GiveSmall(ExtentIndex index) {
  const ExtentIndex joined = small_.Give(index);
  if (extents_[joined].size < slab_size_) return;
  ReleaseKeptSlab();
  kept_slab_ = joined;
}

void MemoryPool::ReleaseKeptSlab() {
  if (kept_slab_ == kNoExtent) return;
  const Extent& kept = extents_[kept_slab_];
  const ExtentIndex slab = kept.slab;
  small_.Remove(kept_slab_, kept.start, kept.size);
  kept_slab_ = kNoExtent;
  Give(slab);
}

void MemoryPool::GiveStitched(ExtentIndex index) {
  ranges_.Gave(extents_[index].stitched);
  extents_[index].stitched = kNoExtent;
  for (ExtentIndex piece = index; piece != kNoExtent;) {
    const ExtentIndex next = extents_[piece].bin_next;
    large_.Give(piece);
    piece = next;
  }
}

ExtentIndex MemoryPool::TakeAligned(int64_t size, int64_t alignment) {
  ExtentSpace& space = size < small_limit_ ? small_ : large_;
  ExtentIndex free = space.Find(size + alignment);
  if (free == kNoExtent && &space == &small_) {
    const ExtentIndex slab = large_.Take(slab_size_);
    if (slab == kNoExtent) return kNoExtent;
    small_.Add(extents_[slab].start, slab_size_, kNoExtent, kNoExtent, slab);
    free = small_.Find(size + alignment);
  }
  if (free == kNoExtent) return kNoExtent;
  if (free == kept_slab_) kept_slab_ = kNoExtent;
  return space.TakeAt(free, AlignUp(extents_[free].start, alignment), size);
}

ExtentIndex MemoryPool::TakeInOneChunk(int64_t size, int64_t alignment) {
  ExtentIndex best = kNoExtent;
  device::Address best_start = 0;
  large_.ForEachFree([&](ExtentIndex i) {
    const Extent& extent = extents_[i];
    const device::Address end = After(extent.start, extent.size);
    for (size_t p = map_.PositionOf(extent.start); p < map_.by_address.size(); ++p) {
      const ChunkMap::Chunk& chunk = map_.chunks[map_.by_address[p]];
      if (chunk.home >= end) break;
      const device::Address start = AlignUp(std::max(extent.start, chunk.home), alignment);
      if (After(start, size) > std::min(end, After(chunk.home, chunk.size))) continue;
      if (best != kNoExtent && extents_[best].size <= extent.size) break;
      best = i;
      best_start = start;
      break;
    }
  });
  return best == kNoExtent ? kNoExtent : large_.TakeAt(best, best_start, size);
}

ExtentIndex MemoryPool::FreeExtentAt(device::Address at) const {
  ExtentIndex found = kNoExtent;
  large_.ForEachFree([&](ExtentIndex i) {
    if (IsFreeAt(i, at)) found = i;
  });
  return found;
}

bool MemoryPool::IsFreeAt(ExtentIndex index, device::Address at) const {
  const Extent& extent = extents_[index];
  return extent.state == Extent::State::kFree && extent.start <= at &&
         at < After(extent.start, extent.size);
}

ExtentIndex MemoryPool::NeighbourBelow(device::Address at) const {
  for (ExtentIndex i = 0; i < extents_.size(); ++i) {
    const Extent& extent = extents_[i];
    if (extent.state != Extent::State::kUnused && extent.slab == kNoExtent &&
        After(extent.start, extent.size) == at) {
      return i;
    }
  }
  return kNoExtent;
}

ExtentIndex MemoryPool::NeighbourAbove(device::Address at) const {
  for (ExtentIndex i = 0; i < extents_.size(); ++i) {
    const Extent& extent = extents_[i];
    if (extent.state != Extent::State::kUnused && extent.slab == kNoExtent && extent.start == at) {
      return i;
    }
  }
  return kNoExtent;
}

void MemoryPool::Add(std::span<const ActiveChunk> chunks, bool joins) {
  int64_t size = 0;
  assert(taken_up_chunks_ == map_.by_address.size());
  for (const ActiveChunk& chunk : chunks) {
    map_.Add(chunk.home, chunk.size.value(), size == 0);
    size += chunk.size.value();
  }
  const device::Address start = chunks.front().home;
  const ExtentIndex below = joins ? NeighbourBelow(start) : kNoExtent;
  const ExtentIndex above = joins ? NeighbourAbove(After(start, size)) : kNoExtent;
  large_.Add(start, size, below, above, kNoExtent);
  reserved_ += size;
  taken_up_ += size;
  taken_up_chunks_ += chunks.size();
}

void MemoryPool::SetAside() {
  ReleaseKeptSlab();
  for (ExtentIndex free; (free = large_.Find(kSmallestExtent)) != kNoExtent;) {
    large_.Remove(free, extents_[free].start, extents_[free].size);
  }
  taken_up_ = 0;
  taken_up_chunks_ = 0;
}

bool MemoryPool::TakeUp() {
  if (taken_up_chunks_ == map_.by_address.size()) return false;
  const device::Address start = map_.chunks[map_.by_address[taken_up_chunks_]].home;
  int64_t size = 0;
  do {
    size += map_.chunks[map_.by_address[taken_up_chunks_]].size;
    ++taken_up_chunks_;
  } while (taken_up_chunks_ < map_.by_address.size() &&
           !map_.chunks[map_.by_address[taken_up_chunks_]].begins &&
           map_.chunks[map_.by_address[taken_up_chunks_]].home == After(start, size));
  large_.Add(start, size, NeighbourBelow(start), kNoExtent, kNoExtent);
  taken_up_ += size;
  return true;
}

bool MemoryPool::FindStitched(int64_t size, StitchPlan& plan) {
  plan.found = false;
  if (ranges_.count() == 0) return false;
  free_runs_.clear();
  large_.ForEachFree([&](ExtentIndex i) {
    free_runs_.push_back({extents_[i].start, extents_[i].size, i});
  });
  std::sort(free_runs_.begin(), free_runs_.end(),
            [](const auto& a, const auto& b) { return a.start < b.start; });
  return ranges_.Find(size, free_runs_, plan);
}

ExtentIndex MemoryPool::TakeStitched(const StitchPlan& plan) {
  // Another piece may have been cut from the extent that this one names; then it lies next to that.
  const auto around = [&](const StitchPlan::Piece& piece) {
    if (piece.extent == kNoExtent) return FreeExtentAt(piece.start);
    const Extent& named = extents_[piece.extent];
    for (ExtentIndex i : {piece.extent, named.next, named.previous}) {
      if (i != kNoExtent && IsFreeAt(i, piece.start)) return i;
    }
    return FreeExtentAt(piece.start);
  };
  ExtentIndex first = kNoExtent;
  ExtentIndex last = kNoExtent;
  for (const StitchPlan::Piece& piece : plan.pieces) {
    const ExtentIndex taken = large_.TakeAt(around(piece), piece.start, piece.size);
    extents_[taken].bin_next = kNoExtent;
    if (last != kNoExtent) extents_[last].bin_next = taken;
    if (first == kNoExtent) first = taken;
    last = taken;
  }
  extents_[first].stitched = plan.range;
  ranges_.Took(plan.range);
  return first;
}

void MemoryPool::AddStitched(device::Address at, StitchPlan& plan) {
  plan.range = ranges_.Add(at, plan.chunks, map_);
}

std::vector<ActiveChunk> MemoryPool::ChunksOf(const StitchPlan& plan) const {
  std::vector<ActiveChunk> chunks;
  for (ChunkSlot slot : plan.chunks) {
    chunks.push_back({map_.chunks[slot].home, Bytes(map_.chunks[slot].size)});
  }
  return chunks;
}

device::Address MemoryPool::AddressOf(const StitchPlan& plan) const {
  return After(ranges_.At(plan.range), plan.offset);
}

int64_t MemoryPool::FreeAtTop() const {
  if (taken_up_chunks_ == 0) return 0;
  const ChunkMap::Chunk& highest = map_.chunks[map_.by_address[taken_up_chunks_ - 1]];
  const ExtentIndex top = FreeExtentAt(After(highest.home, highest.size - 1));
  return top == kNoExtent ? 0 : extents_[top].size;
}

StitchSurvey MemoryPool::Survey() const {
  std::vector<StitchSurvey::Free> free;
  large_.ForEachFree([&](ExtentIndex i) { free.push_back({extents_[i].start, extents_[i].size}); });
  return StitchSurvey(map_, std::move(free));
}

void MemoryPool::Idle(Bytes most, std::vector<device::Address>& stitched,
                      std::vector<ActiveChunk>& chunks) const {
  const StitchSurvey survey = Survey();
  std::vector<bool> pinned(map_.chunks.size());
  ranges_.ForEach([&](const StitchedRanges::Range& range) {
    if (range.blocks == 0) return;
    for (ChunkSlot slot : range.chunks) pinned[slot] = true;
  });
  std::vector<bool> idle(map_.chunks.size());
  Bytes sum;
  for (auto slot = map_.by_address.rbegin(); slot != map_.by_address.rend() && sum < most; ++slot) {
    if (!survey.WholeFree(*slot) || pinned[*slot]) continue;
    idle[*slot] = true;
    chunks.push_back({map_.chunks[*slot].home, Bytes(map_.chunks[*slot].size)});
    sum += chunks.back().size;
  }
  std::reverse(chunks.begin(), chunks.end());
  ranges_.ForEach([&](const StitchedRanges::Range& range) {
    if (range.retired || std::any_of(range.chunks.begin(), range.chunks.end(),
                                     [&](ChunkSlot slot) { return idle[slot]; })) {
      stitched.push_back(range.at);
    }
  });
}

void MemoryPool::RemoveChunk(const ActiveChunk& chunk) {
  large_.Remove(FreeExtentAt(chunk.home), chunk.home, chunk.size.value());
  map_.Remove(map_.by_address[map_.PositionOf(chunk.home)]);
  reserved_ -= chunk.size.value();
  taken_up_ -= chunk.size.value();
  --taken_up_chunks_;
}

int64_t MemoryPool::FreeBytes() const {
  int64_t free = reserved_ - taken_up_;
  const auto add = [&](ExtentIndex i) { free += extents_[i].size; };
  large_.ForEachFree(add);
  small_.ForEachFree(add);
  return free;
}

}  // namespace plimsoll::memory
