#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "memory/pool/extent_space.h"
#include "memory/pool/stitching.h"

namespace plimsoll::memory {

// The stitched ranges of a pool, oldest first: which bytes of home each of them shows, how many
// blocks are seen through it and when it was used last. A range that is retired serves no request
// any more; it waits for its mapping to be undone.
//
// One thread. Finding a place costs the ranges' segments times the logarithm of the free runs, and
// no heap call.
class StitchedRanges {
 public:
  struct FreeRun {
    device::Address start = 0;
    int64_t size = 0;
    ExtentIndex extent = kNoExtent;
  };
  struct Range {
    device::Address at = 0;
    std::vector<ChunkSlot> chunks;
    std::vector<StitchPlan::Piece> segments;  // bytes of home, adjacent chunks as one
    int64_t size = 0;
    int64_t blocks = 0;  // seen through it now
    uint64_t used = 0;   // counts the uses of all ranges
    bool retired = false;
  };

  uint32_t Add(device::Address at, std::span<const ChunkSlot> chunks, const ChunkMap& map);
  void Remove(device::Address at);
  // The first place of the oldest range whose bytes are free; `free` is sorted by address. False
  // where there is none. A range made later changes no earlier choice, so a program that repeats
  // itself comes to use the same ranges again.
  bool Find(int64_t size, std::span<const FreeRun> free, StitchPlan& plan) const;

  void Took(uint32_t range) {
    ++ranges_[range].blocks;
    ranges_[range].used = ++uses_;
  }
  void Gave(uint32_t range) { --ranges_[range].blocks; }
  // Retires the range without a block that was not used for the longest time.
  std::optional<device::Address> RetireOldest();

  device::Address At(uint32_t range) const { return ranges_[range].at; }
  size_t count() const { return by_age_.size(); }  // the retired ones included
  template <typename Visit>
  void ForEach(Visit visit) const {
    for (uint32_t range : by_age_) visit(ranges_[range]);
  }

 private:
  bool FindIn(const Range& range, int64_t size, std::span<const FreeRun> free,
              StitchPlan& plan) const;

  std::vector<Range> ranges_;  // by stable numbers, which are used again
  std::vector<uint32_t> by_age_;
  std::vector<uint32_t> unused_;
  uint64_t uses_ = 0;
};

}  // namespace plimsoll::memory
