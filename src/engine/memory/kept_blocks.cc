#include "engine/memory/kept_blocks.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

namespace plimsoll::engine {
namespace {

size_t Count(Bytes size) { return static_cast<size_t>(size.value()); }

Bytes InPages(Bytes size) {
  static const int64_t page = sysconf(_SC_PAGESIZE);
  return size.RoundUp(page);
}

}  // namespace

KeptBlocks::~KeptBlocks() { Trim(); }

std::shared_ptr<void> KeptBlocks::Take(Bytes size) {
  const Bytes whole = InPages(size);
  const std::lock_guard lock(mutex_);
  std::byte* block = Cut(whole);
  if (block == nullptr) {
    void* const mapped =
        mmap(nullptr, Count(whole), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) return nullptr;
    block = static_cast<std::byte*>(mapped);
  }
  in_use_ = in_use_ + whole;
  most_in_use_ = std::max(most_in_use_, in_use_);
  DropExcess();
  return {block, [keeper = weak_from_this(), whole](std::byte* old) {
            if (const auto alive = keeper.lock()) {
              alive->GiveBack(old, whole);
            } else {
              munmap(old, Count(whole));
            }
          }};
}

std::byte* KeptBlocks::Cut(Bytes size) {
  auto best = free_.end();
  for (auto range = free_.begin(); range != free_.end(); ++range) {
    if (range->second.size < size) continue;
    if (best == free_.end() || range->second.size < best->second.size) best = range;
  }
  if (best == free_.end()) return nullptr;
  const auto [block, range] = *best;
  free_.erase(best);
  const Bytes cut = std::min(size, range.kept);
  kept_ = kept_ - cut;
  if (range.size > size) free_[block + size.value()] = {range.size - size, range.kept - cut};
  return block;
}

void KeptBlocks::GiveBack(std::byte* block, Bytes size) {
  const std::lock_guard lock(mutex_);
  in_use_ = in_use_ - size;
  kept_ = kept_ + size;
  const auto range = free_.emplace(block, Range{size, size}).first;
  const auto join = [&](Ranges::iterator first, Ranges::iterator second) {
    if (first->first + first->second.size.value() != second->first) return;
    // What lies between kept pages counts as kept.
    const Bytes joined = second->second.kept > Bytes(0) ? first->second.size + second->second.kept
                                                        : first->second.kept;
    kept_ = kept_ + joined - first->second.kept - second->second.kept;
    first->second = {first->second.size + second->second.size, joined};
    free_.erase(second);
  };
  if (std::next(range) != free_.end()) join(range, std::next(range));
  if (range != free_.begin()) join(std::prev(range), range);
  DropExcess();
}

// From the smallest range that has so much, or from one after the other.
void KeptBlocks::DropExcess() {
  while (in_use_ + kept_ > most_in_use_) {
    const Bytes excess = in_use_ + kept_ - most_in_use_;
    const auto rank = [&](const auto& range) {
      const bool is_enough = range.second.kept >= excess;
      return std::pair(is_enough, is_enough ? Bytes(0) - range.second.kept : range.second.kept);
    };
    const auto best = std::ranges::max_element(free_, {}, rank);
    const Bytes dropped = std::min(excess, best->second.kept);
    Shrink(best, best->second.kept - dropped);
  }
}

// Addresses are held for what is kept and as much again.
void KeptBlocks::Shrink(Ranges::iterator range, Bytes kept) {
  auto& [at, free] = *range;
  kept_ = kept_ - (free.kept - kept);
  if (kept * 2 >= free.size) {
    madvise(at + kept.value(), Count(free.kept - kept), MADV_DONTNEED);
    free.kept = kept;
    return;
  }
  munmap(at + kept.value(), Count(free.size - kept));
  free = {kept, kept};
  if (kept == Bytes(0)) free_.erase(range);
}

Bytes KeptBlocks::Trim() {
  const std::lock_guard lock(mutex_);
  const Bytes released = kept_;
  while (!free_.empty()) Shrink(free_.begin(), Bytes(0));
  return released;
}

Bytes KeptBlocks::in_use() const {
  const std::lock_guard lock(mutex_);
  return in_use_;
}

Bytes KeptBlocks::kept() const {
  const std::lock_guard lock(mutex_);
  return kept_;
}

}  // namespace plimsoll::engine
