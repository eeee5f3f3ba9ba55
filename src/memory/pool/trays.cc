#include "memory/pool/trays.h"

#include <algorithm>

namespace plimsoll::memory {
namespace {

constexpr int64_t kPage = 2 << 20;
constexpr int64_t kOfReserved = 480;  // a tray is 1/480 of what is reserved
constexpr int64_t kLargestTray = int64_t{128} << 20;
constexpr int64_t kFewestBlocks = 2;  // that a tray has room for

}  // namespace

ExtentIndex Trays::Take(int64_t size, int64_t reserved) {
  if (const ExtentIndex block = inside_.Take(size); block != kNoExtent) return block;
  const int64_t tray_size = std::min(kLargestTray, reserved / kOfReserved / kPage * kPage);
  if (tray_size >= kFewestBlocks * size) {
    if (const ExtentIndex tray = around_.Take(tray_size); tray != kNoExtent) {
      Open(tray);
      return inside_.Take(size);
    }
  }
  return around_.Take(size);
}

void Trays::Open(ExtentIndex tray) {
  table_[tray].tray = true;
  table_[tray].bin_previous = static_cast<uint32_t>(trays_.size());
  trays_.push_back(tray);
  // Blocks are cut at the low end and join downwards, so the lowest extent keeps its index.
  const ExtentIndex lowest =
      inside_.Add(table_[tray].start, table_[tray].size, kNoExtent, kNoExtent, tray);
  table_[tray].bin_next = lowest;
}

void Trays::Close(ExtentIndex tray) {
  const uint32_t place = table_[tray].bin_previous;
  trays_[place] = trays_.back();
  table_[trays_[place]].bin_previous = place;
  trays_.pop_back();
  table_[tray].tray = false;
}

void Trays::Give(ExtentIndex index) {
  const ExtentIndex joined = inside_.Give(index);
  const ExtentIndex tray = table_[joined].slab;
  if (table_[joined].size < table_[tray].size) return;
  inside_.Remove(joined, table_[joined].start, table_[joined].size);
  Close(tray);
  around_.Give(tray);
}

void Trays::Dissolve() {
  while (!trays_.empty()) {
    const ExtentIndex tray = trays_.back();
    const ExtentIndex below = table_[tray].previous;
    const ExtentIndex above = table_[tray].next;
    const ExtentIndex lowest = table_[tray].bin_next;
    Close(tray);
    table_.Drop(tray);
    table_[lowest].previous = below;
    if (below != kNoExtent) table_[below].next = lowest;
    ExtentIndex highest = lowest;
    std::vector<ExtentIndex> free;
    for (ExtentIndex i = lowest; i != kNoExtent; i = table_[i].next) {
      table_[i].slab = kNoExtent;
      if (table_[i].state == Extent::State::kFree) {
        inside_.TakeWhole(i);
        free.push_back(i);
      }
      highest = i;
    }
    table_[highest].next = above;
    if (above != kNoExtent) table_[above].previous = highest;
    for (ExtentIndex i : free) around_.Give(i);
  }
}

}  // namespace plimsoll::memory
