#pragma once

#include <array>
#include <bit>
#include <cassert>
#include <cstdint>
#include <vector>

#include "plimsoll/device/device.h"

namespace plimsoll::memory {

using ExtentIndex = uint32_t;
inline constexpr ExtentIndex kNoExtent = 0xffffffff;

// A stretch of addresses: free, or (a piece of) a block. One cache line.
struct Extent {
  device::Address start = 0;
  int64_t size = 0;
  int64_t requested = 0;             // of the block that begins with this piece
  ExtentIndex previous = kNoExtent;  // the neighbour below, where its bytes are ours as well
  ExtentIndex next = kNoExtent;      // the neighbour above
  ExtentIndex bin_previous = kNoExtent;
  ExtentIndex bin_next = kNoExtent;  // in a free bin; of a block: its next piece
  ExtentIndex slab = kNoExtent;      // the slab or tray that this extent lies in
  uint32_t generation = 0;           // counts the frees of this index
  uint32_t owner = 0;                // who asked for the block
  uint32_t stitched = kNoExtent;     // the stitched range that the block is seen through
  bool tray = false;
  enum class State : uint8_t { kUnused, kFree, kPiece, kBlock } state = State::kUnused;
};

// All extents of a pool. Indices are reused; a generation survives in its slot.
class ExtentTable {
 public:
  ExtentTable() { extents_.reserve(kFirstCapacity); }

  Extent& operator[](ExtentIndex index) { return extents_[index]; }
  const Extent& operator[](ExtentIndex index) const { return extents_[index]; }
  size_t size() const { return extents_.size(); }

  ExtentIndex Make() {
    if (unused_ == kNoExtent) {
      extents_.emplace_back();
      return static_cast<ExtentIndex>(extents_.size() - 1);
    }
    const ExtentIndex index = unused_;
    unused_ = extents_[index].next;
    return index;
  }
  void Drop(ExtentIndex index) {
    extents_[index].state = Extent::State::kUnused;
    extents_[index].next = unused_;
    unused_ = index;
  }

 private:
  static constexpr size_t kFirstCapacity = 4096;
  std::vector<Extent> extents_;
  ExtentIndex unused_ = kNoExtent;
};

// Free extents by size: 32 bins to each power of two, two levels of bits to find the next filled
// one. Joins neighbours when they are freed. No lock; the table's growth is its only heap call.
// Taking looks at one bin for the exact size, else for the tightest of a few; giving is constant.
class ExtentSpace {
 public:
  explicit ExtentSpace(ExtentTable& table) : table_(table) {
    for (auto& level : bins_) level.fill(kNoExtent);
  }

  // A new free extent between its neighbours, which it may join; either may be none.
  ExtentIndex Add(device::Address start, int64_t size, ExtentIndex below, ExtentIndex above,
                  ExtentIndex slab);
  // The low end of the tightest free extent found, or none.
  ExtentIndex Take(int64_t size) {
    const ExtentIndex found = Find(size);
    if (found != kNoExtent) Cut(found, table_[found].start, size);
    return found;
  }
  // This part of a free extent.
  ExtentIndex TakeAt(ExtentIndex free, device::Address start, int64_t size);
  // All of a free extent.
  void TakeWhole(ExtentIndex free) {
    Unbin(free);
    table_[free].state = Extent::State::kPiece;
  }
  // Makes the extent free and joins it with free neighbours; returns what it became part of.
  ExtentIndex Give(ExtentIndex index);
  // Forgets this part of a free extent; its neighbours end there.
  void Remove(ExtentIndex free, device::Address start, int64_t size);

  ExtentIndex Find(int64_t size) const;
  int64_t Largest() const;
  template <typename Visit>
  void ForEachFree(Visit visit) const {
    for (uint64_t levels = levels_; levels != 0; levels &= levels - 1) {
      const int level = std::countr_zero(levels);
      for (uint32_t bins = filled_[level]; bins != 0; bins &= bins - 1) {
        ExtentIndex i = bins_[level][std::countr_zero(bins)];
        for (; i != kNoExtent; i = table_[i].bin_next) visit(i);
      }
    }
  }

 private:
  static constexpr int kLevels = 48;
  static constexpr int kBinsLog2 = 5;
  static constexpr int kBins = 1 << kBinsLog2;
  static constexpr int kSmallestLog2 = 9;  // sizes are multiples of 512
  static constexpr int kLook = 16;         // how many extents of a bin are compared

  struct Bin {
    int level;
    int bin;
  };
  static Bin BinOf(int64_t size) {
    const auto units = static_cast<uint64_t>(size) >> kSmallestLog2;
    const int log2 = std::bit_width(units) - 1;
    if (log2 < kBinsLog2) return {0, static_cast<int>(units)};
    return {log2 - kBinsLog2 + 1, static_cast<int>(units >> (log2 - kBinsLog2)) - kBins};
  }

  void Insert(ExtentIndex index);
  void Unbin(ExtentIndex index);
  // Reduces a free extent to [start, start + size); what is around it stays free.
  void Cut(ExtentIndex free, device::Address start, int64_t size);
  ExtentIndex Tightest(ExtentIndex head, int64_t size) const;

  ExtentTable& table_;
  std::array<std::array<ExtentIndex, kBins>, kLevels> bins_;
  std::array<uint32_t, kLevels> filled_{};
  uint64_t levels_ = 0;
};

inline void ExtentSpace::Insert(ExtentIndex index) {
  Extent& extent = table_[index];
  extent.state = Extent::State::kFree;
  const auto [level, bin] = BinOf(extent.size);
  ExtentIndex& head = bins_[level][bin];
  extent.bin_previous = kNoExtent;
  extent.bin_next = head;
  if (head != kNoExtent) table_[head].bin_previous = index;
  head = index;
  filled_[level] |= 1u << bin;
  levels_ |= uint64_t{1} << level;
}

inline void ExtentSpace::Unbin(ExtentIndex index) {
  Extent& extent = table_[index];
  assert(extent.state == Extent::State::kFree);
  if (extent.bin_next != kNoExtent) table_[extent.bin_next].bin_previous = extent.bin_previous;
  if (extent.bin_previous != kNoExtent) {
    table_[extent.bin_previous].bin_next = extent.bin_next;
  } else {
    const auto [level, bin] = BinOf(extent.size);
    bins_[level][bin] = extent.bin_next;
    if (extent.bin_next == kNoExtent) {
      filled_[level] &= ~(1u << bin);
      if (filled_[level] == 0) levels_ &= ~(uint64_t{1} << level);
    }
  }
  extent.bin_next = kNoExtent;
}

}  // namespace plimsoll::memory
