#include "memory/pool/extent_space.h"

#include <algorithm>
#include <limits>

#include "memory/pool/address_math.h"

namespace plimsoll::memory {
int64_t ExtentSpace::Largest() const {
  if (levels_ == 0) return 0;
  const int level = std::bit_width(levels_) - 1;
  int64_t largest = 0;
  for (ExtentIndex i = bins_[level * kBins + std::bit_width(filled_[level]) - 1]; i != kNoExtent;
       i = table_[i].bin_next) {
    largest = std::max(largest, table_[i].size);
  }
  return largest;
}

ExtentIndex ExtentSpace::FindLowest(int64_t size) const {
  const int bin = BinOf(size);
  constexpr device::Address kNowhere = std::numeric_limits<device::Address>::max();
  ExtentIndex lowest = kNoExtent;
  device::Address lowest_start = kNowhere;
  int looked = 0;
  // Without branches on what is found, which nobody can foretell.
  const auto look = [&](int level, uint32_t bins) {
    for (; bins != 0 && looked < kLookLowest; bins &= bins - 1) {
      ExtentIndex i = bins_[level * kBins + std::countr_zero(bins)];
      for (; i != kNoExtent && looked < kLookLowest; ++looked) {
        const Extent& extent = table_[i];
        const device::Address start = extent.size < size ? kNowhere : extent.start;
        lowest = start < lowest_start ? i : lowest;
        lowest_start = std::min(start, lowest_start);
        i = extent.bin_next;
      }
    }
  };
  const int first = bin / kBins;
  look(first, filled_[first] & (~uint32_t{0} << (bin % kBins)));
  for (uint64_t levels = levels_ & (~uint64_t{1} << first); levels != 0; levels &= levels - 1) {
    look(std::countr_zero(levels), filled_[std::countr_zero(levels)]);
  }
  return lowest;
}

void ExtentSpace::Cut(ExtentIndex free, device::Address start, int64_t size) {
  TakeWhole(free);
  table_[free].bin_next = kNoExtent;
  if (const auto before = static_cast<int64_t>(start - table_[free].start); before > 0) {
    const ExtentIndex low = table_.Make();
    Extent& extent = table_[free];
    Extent& below = table_[low];
    below.start = extent.start;
    below.size = before;
    below.slab = extent.slab;
    below.previous = extent.previous;
    below.next = free;
    if (below.previous != kNoExtent) table_[below.previous].next = low;
    extent.previous = low;
    extent.start = start;
    extent.size -= before;
    Insert(low);
  }
  assert(table_[free].size >= size);
  if (table_[free].size > size) SplitAbove(free, size);
}

ExtentIndex ExtentSpace::Add(device::Address start, int64_t size, ExtentIndex below,
                             ExtentIndex above, ExtentIndex slab) {
  const ExtentIndex index = table_.Make();
  Extent& extent = table_[index];
  extent.start = start;
  extent.size = size;
  extent.slab = slab;
  extent.previous = below;
  extent.next = above;
  assert(below == kNoExtent || After(table_[below].start, table_[below].size) == start);
  assert(above == kNoExtent || table_[above].start == After(start, size));
  if (below != kNoExtent) table_[below].next = index;
  if (above != kNoExtent) table_[above].previous = index;
  return Give(index);
}

ExtentIndex ExtentSpace::TakeAt(ExtentIndex free, device::Address start, int64_t size) {
  Cut(free, start, size);
  return free;
}

void ExtentSpace::Remove(ExtentIndex free, device::Address start, int64_t size) {
  Cut(free, start, size);
  const Extent& extent = table_[free];
  if (extent.previous != kNoExtent) table_[extent.previous].next = kNoExtent;
  if (extent.next != kNoExtent) table_[extent.next].previous = kNoExtent;
  table_.Drop(free);
}

}  // namespace plimsoll::memory
