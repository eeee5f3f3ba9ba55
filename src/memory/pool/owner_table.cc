#include "memory/pool/owner_table.h"

#include <algorithm>
#include <functional>

namespace plimsoll::memory {

uint32_t OwnerTable::FindTagged(std::string_view tag) {
  if (owners_.size() * 2 > slots_.size()) {
    std::vector<uint32_t> slots(slots_.size() * 2, kEmpty);
    for (uint32_t i = 1; i < owners_.size(); ++i) {
      size_t at = std::hash<std::string_view>()(owners_[i].tag) & (slots.size() - 1);
      while (slots[at] != kEmpty) at = (at + 1) & (slots.size() - 1);
      slots[at] = i;
    }
    slots_ = std::move(slots);
  }
  const size_t mask = slots_.size() - 1;
  size_t at = std::hash<std::string_view>()(tag) & mask;
  for (; slots_[at] != kEmpty; at = (at + 1) & mask) {
    if (owners_[slots_[at]].tag == tag) return slots_[at];
  }
  slots_[at] = static_cast<uint32_t>(owners_.size());
  owners_.push_back({std::string(tag), Bytes(), 0});
  return slots_[at];
}

std::vector<MemoryOwner> OwnerTable::Top(size_t count) const {
  std::vector<MemoryOwner> top;
  for (const MemoryOwner& owner : owners_) {
    if (owner.blocks > 0) top.push_back(owner);
  }
  std::sort(top.begin(), top.end(), [](const MemoryOwner& a, const MemoryOwner& b) {
    return a.bytes != b.bytes ? a.bytes > b.bytes : a.tag < b.tag;
  });
  if (top.size() > count) top.resize(count);
  return top;
}

}  // namespace plimsoll::memory
