#include "memory/extent_space.h"

#include <algorithm>

namespace plimsoll::memory {
namespace {

device::Address After(device::Address at, int64_t size) { return at + static_cast<uint64_t>(size); }

}  // namespace

ExtentIndex ExtentSpace::Tightest(ExtentIndex head, int64_t size) const {
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

ExtentIndex ExtentSpace::Find(int64_t size) const {
  const auto [level, bin] = BinOf(size);
  if (const ExtentIndex found = Tightest(bins_[level][bin], size); found != kNoExtent) return found;
  const uint32_t higher_bins = bin + 1 < kBins ? filled_[level] & (~uint32_t{0} << (bin + 1)) : 0;
  if (higher_bins != 0) return Tightest(bins_[level][std::countr_zero(higher_bins)], size);
  const uint64_t higher_levels = levels_ & (~uint64_t{0} << (level + 1));
  if (higher_levels == 0) return kNoExtent;
  const int next = std::countr_zero(higher_levels);
  return Tightest(bins_[next][std::countr_zero(filled_[next])], size);
}

int64_t ExtentSpace::Largest() const {
  if (levels_ == 0) return 0;
  const int level = std::bit_width(levels_) - 1;
  int64_t largest = 0;
  for (ExtentIndex i = bins_[level][std::bit_width(filled_[level]) - 1]; i != kNoExtent;
       i = table_[i].bin_next) {
    largest = std::max(largest, table_[i].size);
  }
  return largest;
}

void ExtentSpace::Cut(ExtentIndex free, device::Address start, int64_t size) {
  Unbin(free);
  table_[free].state = Extent::State::kPiece;
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
  if (const int64_t behind = table_[free].size - size; behind > 0) {
    const ExtentIndex high = table_.Make();
    Extent& extent = table_[free];
    Extent& above = table_[high];
    above.start = After(start, size);
    above.size = behind;
    above.slab = extent.slab;
    above.previous = free;
    above.next = extent.next;
    if (above.next != kNoExtent) table_[above.next].previous = high;
    extent.next = high;
    extent.size = size;
    Insert(high);
  }
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

ExtentIndex ExtentSpace::Give(ExtentIndex index) {
  Extent& extent = table_[index];
  if (const ExtentIndex above = extent.next;
      above != kNoExtent && table_[above].state == Extent::State::kFree) {
    Unbin(above);
    extent.size += table_[above].size;
    extent.next = table_[above].next;
    if (extent.next != kNoExtent) table_[extent.next].previous = index;
    table_.Drop(above);
  }
  if (const ExtentIndex below = extent.previous;
      below != kNoExtent && table_[below].state == Extent::State::kFree) {
    Unbin(below);
    table_[below].size += extent.size;
    table_[below].next = extent.next;
    if (extent.next != kNoExtent) table_[extent.next].previous = below;
    table_.Drop(index);
    Insert(below);
    return below;
  }
  Insert(index);
  return index;
}

void ExtentSpace::Remove(ExtentIndex free, device::Address start, int64_t size) {
  Cut(free, start, size);
  const Extent& extent = table_[free];
  if (extent.previous != kNoExtent) table_[extent.previous].next = kNoExtent;
  if (extent.next != kNoExtent) table_[extent.next].previous = kNoExtent;
  table_.Drop(free);
}

}  // namespace plimsoll::memory
