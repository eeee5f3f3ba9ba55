#pragma once

#include <algorithm>
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
  ExtentIndex slab = kNoExtent;      // the slab that this extent lies in
  uint32_t generation = 0;           // counts the frees of this index
  uint32_t owner = 0;                // who asked for the block
  uint32_t stitched = kNoExtent;     // the stitched range that the block is seen through
  uint16_t bin = 0;                  // while it is free
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
  explicit ExtentSpace(ExtentTable& table) : table_(table) { bins_.fill(kNoExtent); }

  // A new free extent between its neighbours, which it may join; either may be none.
  ExtentIndex Add(device::Address start, int64_t size, ExtentIndex below, ExtentIndex above,
                  ExtentIndex slab);
  // The low end of the tightest free extent found, or none.
  ExtentIndex Take(int64_t size) {
    const ExtentIndex found = Find(size);
    if (found != kNoExtent) CutLow(found, size);
    return found;
  }
  // The high end of it.
  ExtentIndex TakeHigh(int64_t size) {
    const ExtentIndex found = Find(size);
    if (found == kNoExtent) return kNoExtent;
    const Extent& extent = table_[found];
    return TakeAt(found, extent.start + static_cast<uint64_t>(extent.size - size), size);
  }
  // The low end of the free extent at the lowest address, of those looked at: the tightest few.
  ExtentIndex TakeLowest(int64_t size) {
    const ExtentIndex found = FindLowest(size);
    if (found != kNoExtent) CutLow(found, size);
    return found;
  }
  // This part of a free extent.
  ExtentIndex TakeAt(ExtentIndex free, device::Address start, int64_t size);
  // All of a free extent.
  void TakeWhole(ExtentIndex free) {
    Unbin(table_[free]);
    table_[free].state = Extent::State::kPiece;
  }
  // Makes the extent free and joins it with free neighbours; returns what it became part of.
  ExtentIndex Give(ExtentIndex index);
  // Forgets this part of a free extent; its neighbours end there.
  void Remove(ExtentIndex free, device::Address start, int64_t size);

  ExtentIndex Find(int64_t size) const;
  ExtentIndex FindLowest(int64_t size) const;
  int64_t Largest() const;
  template <typename Visit>
  void ForEachFree(Visit visit) const {
    for (uint64_t levels = levels_; levels != 0; levels &= levels - 1) {
      const int level = std::countr_zero(levels);
      for (uint32_t bins = filled_[level]; bins != 0; bins &= bins - 1) {
        ExtentIndex i = bins_[level * kBins + std::countr_zero(bins)];
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
  static constexpr int kLookLowest = 32;   // how many extents are, where the lowest is sought

  // Level times kBins plus the place in the level.
  static int BinOf(int64_t size) {
    const auto units = static_cast<uint64_t>(size) >> kSmallestLog2;
    const int level = std::max(static_cast<int>(std::bit_width(units)) - kBinsLog2, 0);
    const int place = static_cast<int>(units >> std::max(level - 1, 0));
    return level * kBins + (place & (kBins - 1));
  }

  void Insert(ExtentIndex index);
  void Unbin(const Extent& extent);
  // What lies above the first `size` bytes of an extent that is no more free becomes free.
  void SplitAbove(ExtentIndex index, int64_t size);
  void CutLow(ExtentIndex free, int64_t size);
  // Reduces a free extent to [start, start + size); what is around it stays free.
  void Cut(ExtentIndex free, device::Address start, int64_t size);
  ExtentIndex Tightest(ExtentIndex head, int64_t size) const;

  ExtentTable& table_;
  std::array<ExtentIndex, size_t{kLevels} * kBins> bins_;
  std::array<uint32_t, kLevels> filled_{};
  uint64_t levels_ = 0;
};

inline void ExtentSpace::Insert(ExtentIndex index) {
  Extent& extent = table_[index];
  const int bin = BinOf(extent.size);
  const ExtentIndex head = bins_[bin];
  extent.state = Extent::State::kFree;
  extent.bin = static_cast<uint16_t>(bin);
  extent.bin_previous = kNoExtent;
  extent.bin_next = head;
  bins_[bin] = index;
  if (head != kNoExtent) {
    table_[head].bin_previous = index;
    return;
  }
  filled_[bin / kBins] |= 1u << (bin % kBins);
  levels_ |= uint64_t{1} << (bin / kBins);
}

inline void ExtentSpace::Unbin(const Extent& extent) {
  assert(extent.state == Extent::State::kFree);
  const ExtentIndex previous = extent.bin_previous;
  const ExtentIndex next = extent.bin_next;
  if (next != kNoExtent) table_[next].bin_previous = previous;
  if (previous != kNoExtent) {
    table_[previous].bin_next = next;
    return;
  }
  const int bin = extent.bin;
  bins_[bin] = next;
  if (next != kNoExtent) return;
  const uint32_t left = filled_[bin / kBins] & ~(1u << (bin % kBins));
  filled_[bin / kBins] = left;
  if (left == 0) levels_ &= ~(uint64_t{1} << (bin / kBins));
}

inline ExtentIndex ExtentSpace::Find(int64_t size) const {
  const int bin = BinOf(size);
  if (const ExtentIndex head = bins_[bin]; head != kNoExtent) {
    if (table_[head].size == size) return head;
    if (const ExtentIndex found = Tightest(head, size); found != kNoExtent) return found;
  }
  const int level = bin / kBins;
  const uint32_t higher_bins = filled_[level] & (~uint32_t{1} << (bin % kBins));
  if (higher_bins != 0) {
    return Tightest(bins_[level * kBins + std::countr_zero(higher_bins)], size);
  }
  const uint64_t higher_levels = levels_ & (~uint64_t{1} << level);
  if (higher_levels == 0) return kNoExtent;
  const int next = std::countr_zero(higher_levels);
  return Tightest(bins_[next * kBins + std::countr_zero(filled_[next])], size);
}

inline ExtentIndex ExtentSpace::Tightest(ExtentIndex head, int64_t size) const {
  if (table_[head].bin_next == kNoExtent) return table_[head].size >= size ? head : kNoExtent;
  ExtentIndex best = kNoExtent;
  int looked = 0;
  for (ExtentIndex i = head; i != kNoExtent && looked < kLook; i = table_[i].bin_next, ++looked) {
    const Extent& extent = table_[i];
    if (extent.size == size) return i;
    if (extent.size < size) continue;
    if (best == kNoExtent || extent.size < table_[best].size ||
        (extent.size == table_[best].size && extent.start < table_[best].start)) {
      best = i;
    }
  }
  return best;
}

inline void ExtentSpace::SplitAbove(ExtentIndex index, int64_t size) {
  const ExtentIndex high = table_.Make();
  Extent& extent = table_[index];
  Extent& above = table_[high];
  above.start = extent.start + static_cast<uint64_t>(size);
  above.size = extent.size - size;
  above.slab = extent.slab;
  above.previous = index;
  above.next = extent.next;
  if (above.next != kNoExtent) table_[above.next].previous = high;
  extent.next = high;
  extent.size = size;
  Insert(high);
}

inline void ExtentSpace::CutLow(ExtentIndex free, int64_t size) {
  Extent& extent = table_[free];
  assert(extent.size >= size);
  Unbin(extent);
  extent.state = Extent::State::kPiece;
  extent.bin_next = kNoExtent;
  if (extent.size > size) SplitAbove(free, size);
}

inline ExtentIndex ExtentSpace::Give(ExtentIndex index) {
  Extent& extent = table_[index];
  if (const ExtentIndex above = extent.next;
      above != kNoExtent && table_[above].state == Extent::State::kFree) {
    const Extent& joined = table_[above];
    Unbin(joined);
    extent.size += joined.size;
    extent.next = joined.next;
    if (extent.next != kNoExtent) table_[extent.next].previous = index;
    table_.Drop(above);
  }
  if (const ExtentIndex below = extent.previous;
      below != kNoExtent && table_[below].state == Extent::State::kFree) {
    Extent& joined = table_[below];
    Unbin(joined);
    joined.size += extent.size;
    joined.next = extent.next;
    if (extent.next != kNoExtent) table_[extent.next].previous = below;
    table_.Drop(index);
    Insert(below);
    return below;
  }
  Insert(index);
  return index;
}

}  // namespace plimsoll::memory
