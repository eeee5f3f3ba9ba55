#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "memory/pool/extent_space.h"
#include "memory/pool/life_predictor.h"
#include "memory/pool/stitched_ranges.h"
#include "memory/pool/stitching.h"
#include "plimsoll/memory/active_memory.h"

namespace plimsoll::memory {

// The memory of one stream, free and in blocks, as spans of pages: no device in it. Blocks of a
// slab's eighth or more are cut from the chunks; smaller ones from slabs, which are blocks
// themselves and go back when they are empty (one is kept). A block lies in one free run, or is
// seen through a stitched range that maps the chunks of several.
//
// One thread, no lock. Take and Give are constant time and call nothing; they serve the hot path.
// Everything else is for the slow path and costs the number of chunks and free extents.
class MemoryPool {
 public:
  // A slab is as large as said, and no smaller than the granularity.
  MemoryPool(Bytes granularity, Bytes slab);

  // Hot path. Sizes are multiples of 512. None when no free run is large enough. Blocks that are
  // likely to stay are gathered at low addresses, those that are not lie at the high end of their
  // run, so that what stays leaves few and large runs behind.
  ExtentIndex Take(int64_t size, ExpectedLife life) {
    if (size < small_limit_) return TakeSmall(size);
    return life == ExpectedLife::kShort ? large_.TakeHigh(size) : large_.TakeLowest(size);
  }
  // A small block where no slab can be had.
  ExtentIndex TakeOutsideSlabs(int64_t size) { return large_.Take(size); }
  ExtentIndex TakeAligned(int64_t size, int64_t alignment);
  void Give(ExtentIndex index) {
    const Extent& extent = extents_[index];
    if (extent.slab != kNoExtent) {
      GiveSmall(index);
    } else if (extent.stitched == kNoExtent) {
      large_.Give(index);
    } else {
      GiveStitched(index);
    }
  }
  const ExtentTable& extents() const { return extents_; }
  Extent& operator[](ExtentIndex index) { return extents_[index]; }
  const Extent& operator[](ExtentIndex index) const { return extents_[index]; }
  bool Holds(ExtentIndex index) const { return index < extents_.size(); }
  int64_t small_limit() const { return small_limit_; }
  int64_t slab_size() const { return slab_size_; }

  // Memory that the device gave, in address order. `joins`: a block may reach over into memory that
  // it gave before; plain memory that is adjacent by chance is still not one.
  void Add(std::span<const ActiveChunk> chunks, bool joins);
  // A pool without a block sets all its memory aside and takes it up again piece by piece as it
  // came from the device at first: a program that starts over then finds every choice as it was.
  void SetAside();
  // The next piece, or all of it. False: there is none. No heap call.
  bool TakeUp();
  void TakeUpAll() {
    while (TakeUp()) {
    }
  }
  // Lets go of the kept slab, so that its bytes count as free.
  void ReleaseKeptSlab();
  // A block inside one chunk.
  ExtentIndex TakeInOneChunk(int64_t size, int64_t alignment);
  // Where a stitched range that exists has room; false: nowhere. No heap call once `plan` and the
  // pool have seen the like.
  bool FindStitched(int64_t size, StitchPlan& plan);
  // How a new range could be made.
  StitchPlan PlanStitch(int64_t size, bool exhaustive) const {
    return Survey().PlanStitch(size, exhaustive);
  }
  // Carries out a plan that misses nothing and names its range; the first piece stands for the
  // block.
  ExtentIndex TakeStitched(const StitchPlan& plan);
  // A new stitched range over the chunks; the plan then names it.
  void AddStitched(device::Address at, StitchPlan& plan);
  std::vector<ActiveChunk> ChunksOf(const StitchPlan& plan) const;
  device::Address AddressOf(const StitchPlan& plan) const;
  // The range that was not used for the longest time serves no more request; none where all have
  // blocks.
  std::optional<device::Address> RetireStitched() { return ranges_.RetireOldest(); }
  // Free bytes just below where the next growth is expected.
  int64_t FreeAtTop() const;

  // What could go back to the device: chunks with no block in them, from the highest on until they
  // make up `most` bytes, after the stitched ranges that map one of them and those that are
  // retired. Ranges with a block, and their chunks, stay.
  void Idle(Bytes most, std::vector<device::Address>& stitched,
            std::vector<ActiveChunk>& chunks) const;
  void RemoveStitched(device::Address at) { ranges_.Remove(at); }
  void RemoveChunk(const ActiveChunk& chunk);

  Bytes reserved() const { return Bytes(reserved_); }
  int64_t LargestFree() const {
    return std::max({large_.Largest(), reserved_ - taken_up_, small_.Largest()});
  }
  int64_t FreeBytes() const;
  size_t stitched_count() const { return ranges_.count(); }
  size_t chunk_count() const { return map_.by_address.size(); }

 private:
  ExtentIndex TakeSmall(int64_t size);
  void GiveSmall(ExtentIndex index);
  void GiveStitched(ExtentIndex index);
  ExtentIndex FreeExtentAt(device::Address at) const;
  bool IsFreeAt(ExtentIndex index, device::Address at) const;
  ExtentIndex NeighbourBelow(device::Address at) const;
  ExtentIndex NeighbourAbove(device::Address at) const;
  StitchSurvey Survey() const;

  const int64_t slab_size_;
  const int64_t small_limit_;
  ExtentTable extents_;
  ExtentSpace large_;
  ExtentSpace small_;
  ExtentIndex kept_slab_ = kNoExtent;  // the small extent that is a whole slab
  ChunkMap map_;
  StitchedRanges ranges_;
  std::vector<StitchedRanges::FreeRun> free_runs_;  // kept for its capacity
  int64_t reserved_ = 0;
  int64_t taken_up_ = 0;        // bytes that are not set aside
  size_t taken_up_chunks_ = 0;  // of map_.by_address, from the lowest on
};

}  // namespace plimsoll::memory
