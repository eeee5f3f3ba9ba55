#pragma once

#include <memory>
#include <mutex>

#include "plimsoll/base/memory_observer.h"
#include "plimsoll/memory/allocator.h"

namespace plimsoll::memory {

// An adaptor that tells an observer of every block that passes through it, and counts what it saw:
// statistics and a log for allocators that have none of their own, or for one user of a shared one.
// Threads as the allocator below; the observer is called under a lock. A free is told without its
// tag.
class ObservingAllocator final : public Allocator {
 public:
  // The observer outlives the allocator; null: only count.
  ObservingAllocator(std::unique_ptr<Allocator> under, DeviceId device, MemoryObserver* observer);

  Result<Block> Allocate(const Request& request) override;
  Status Free(const Block& block) override;
  Status RecordStream(const Block& block, StreamId stream) override;
  Result<Bytes> Trim() override;
  // Of this adaptor; reserved bytes are those of the allocator below.
  MemoryStatistics statistics() const override;

 private:
  void Tell(MemoryEvent::Kind kind, const Block& block, StreamId stream, std::string_view tag);

  std::unique_ptr<Allocator> under_;
  const DeviceId device_;
  MemoryObserver* const observer_;
  mutable std::mutex mutex_;
  MemoryStatistics seen_;
};

}  // namespace plimsoll::memory
