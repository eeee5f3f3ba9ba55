#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "plimsoll/memory/active_memory.h"
#include "plimsoll/memory/physical_memory_allocator.h"

namespace plimsoll::memory {

// The face of active memory over plain device allocation: the fallback for devices that cannot
// reserve addresses. Every Grow is one plain block, so nothing is stitched, and a pause, which
// would change the addresses, is refused with kUnsupported.
//
// Thread-safe: one recursive mutex. Cost: one plain allocation or free a call.
class ActiveMemoryAllocator final : public ActiveMemory {
 public:
  explicit ActiveMemoryAllocator(std::shared_ptr<PhysicalMemoryAllocator> physical);
  // Frees every block; pending work must have been waited for.
  ~ActiveMemoryAllocator() override;

  Result<std::vector<ActiveChunk>> Grow(const GrowRequest& request) override;
  Result<device::Address> Stitch(std::span<const ActiveChunk> chunks) override;
  Status Unstitch(device::Address at) override;
  Status Shrink(const ActiveChunk& chunk) override;
  Status Pause() override;
  Status Resume() override;
  bool stitches() const override { return false; }
  Bytes granularity() const override { return granularity_; }

 private:
  mutable std::recursive_mutex mutex_;
  std::shared_ptr<PhysicalMemoryAllocator> physical_;
  const Bytes granularity_;
  std::map<device::Address, Bytes> blocks_;
};

}  // namespace plimsoll::memory
