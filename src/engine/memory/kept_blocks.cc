#include "engine/memory/kept_blocks.h"

#include <sys/mman.h>

#include <algorithm>

namespace plimsoll::engine {
namespace {

size_t Count(Bytes size) { return static_cast<size_t>(size.value()); }

}  // namespace

KeptBlocks::~KeptBlocks() { Trim(); }

std::shared_ptr<void> KeptBlocks::Take(Bytes size) {
  const std::lock_guard lock(mutex_);
  void* block = nullptr;
  if (const auto found = idle_.find(size); found != idle_.end()) {
    block = found->second.back();
    found->second.pop_back();
    if (found->second.empty()) idle_.erase(found);
    kept_ = kept_ - size;
  } else {
    const Bytes room = std::max(most_in_use_, in_use_ + size);
    while (kept_ > Bytes(0) && in_use_ + kept_ + size > room) Release(idle_.rbegin()->first);
    block = mmap(nullptr, Count(size), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED) return nullptr;
  }
  in_use_ = in_use_ + size;
  most_in_use_ = std::max(most_in_use_, in_use_);
  return {block, [keeper = weak_from_this(), size](void* old) {
            if (const auto alive = keeper.lock()) {
              alive->GiveBack(old, size);
            } else {
              munmap(old, Count(size));
            }
          }};
}

void KeptBlocks::GiveBack(void* block, Bytes size) {
  const std::lock_guard lock(mutex_);
  idle_[size].push_back(block);
  in_use_ = in_use_ - size;
  kept_ = kept_ + size;
}

void KeptBlocks::Release(Bytes size) {
  const auto found = idle_.find(size);
  munmap(found->second.back(), Count(size));
  found->second.pop_back();
  if (found->second.empty()) idle_.erase(found);
  kept_ = kept_ - size;
}

Bytes KeptBlocks::Trim() {
  const std::lock_guard lock(mutex_);
  const Bytes released = kept_;
  while (!idle_.empty()) Release(idle_.begin()->first);
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
