#include "plan/assign/memory_block.h"

#include <bit>

namespace plimsoll::plan {

void FreeBlocks::Release(uint32_t index, const MemoryBlock& block) {
  entries_.emplace(knobs_.reuse_first_release ? releases_++ : block.size, index);
}

int64_t FreeBlocks::Take(int64_t size, int64_t alignment, const std::vector<MemoryBlock>& blocks) {
  const auto first =
      knobs_.reuse_first_release ? entries_.begin() : entries_.lower_bound(Entry(size, 0));
  for (auto entry = first; entry != entries_.end(); ++entry) {
    if (Serves(blocks[std::get<1>(*entry)], size, alignment)) return Remove(entry);
  }
  if (!knobs_.memory_priority_mode) return -1;
  // Nothing is large enough: the first released one grows, or the largest, which grows least.
  if (knobs_.reuse_first_release) {
    for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
      if (MayGrow(blocks[std::get<1>(*entry)], alignment)) return Remove(entry);
    }
    return -1;
  }
  for (auto entry = first; entry != entries_.begin();) {
    --entry;
    if (MayGrow(blocks[std::get<1>(*entry)], alignment)) return Remove(entry);
  }
  return -1;
}

bool FreeBlocks::Serves(const MemoryBlock& block, int64_t size, int64_t alignment) const {
  if (block.size < size || block.alignment % alignment != 0) return false;
  return !knobs_.use_range || std::bit_width(static_cast<uint64_t>(block.size)) ==
                                  std::bit_width(static_cast<uint64_t>(size));
}

bool FreeBlocks::MayGrow(const MemoryBlock& block, int64_t alignment) const {
  return block.fixed < 0 && block.alignment % alignment == 0;
}

int64_t FreeBlocks::Remove(std::set<Entry>::iterator entry) {
  const int64_t index = std::get<1>(*entry);
  entries_.erase(entry);
  return index;
}

}  // namespace plimsoll::plan
