#include "engine/memory/page_block.h"

#include <algorithm>
#include <iterator>

namespace plimsoll::engine {

std::shared_ptr<void> PageBlock::Cut(const std::shared_ptr<PageBlock>& block, Bytes size) {
  const std::optional<int64_t> offset = block->Take(size);
  if (!offset) return nullptr;
  const device::Address at = block->memory_.address() + static_cast<device::Address>(*offset);
  return {reinterpret_cast<void*>(at),
          [block, offset = *offset, size](void*) { block->Give(offset, size); }};
}

std::optional<int64_t> PageBlock::Take(Bytes size) {
  const std::lock_guard lock(mutex_);
  const auto run = std::find_if(free_.begin(), free_.end(),
                                [&](const auto& entry) { return entry.second >= size; });
  if (run == free_.end()) return std::nullopt;
  const auto [offset, length] = *run;
  free_.erase(run);
  if (length > size) free_.emplace(offset + size.value(), length - size);
  return offset;
}

void PageBlock::Give(int64_t offset, Bytes size) {
  const std::lock_guard lock(mutex_);
  auto run = free_.emplace(offset, size).first;
  const auto next = std::next(run);
  if (next != free_.end() && offset + size.value() == next->first) {
    run->second += next->second;
    free_.erase(next);
  }
  if (run == free_.begin()) return;
  const auto before = std::prev(run);
  if (before->first + before->second.value() != offset) return;
  before->second += run->second;
  free_.erase(run);
}

}  // namespace plimsoll::engine
