#include "plimsoll/memory/observing_allocator.h"

#include <algorithm>
#include <utility>

namespace plimsoll::memory {

ObservingAllocator::ObservingAllocator(std::unique_ptr<Allocator> under, DeviceId device,
                                       MemoryObserver* observer)
    : under_(std::move(under)), device_(device), observer_(observer) {}

void ObservingAllocator::Tell(MemoryEvent::Kind kind, const Block& block, StreamId stream,
                              std::string_view tag) {
  if (observer_ == nullptr) return;
  MemoryEvent event;
  event.kind = kind;
  event.device = device_.ordinal;
  event.stream = stream.valid() ? static_cast<int64_t>(stream.index()) : 0;
  event.address = block.address;
  event.bytes = block.size;
  event.tag = tag;
  event.allocated = seen_.allocated;
  observer_->OnMemoryEvent(event);
}

Result<Block> ObservingAllocator::Allocate(const Request& request) {
  Result<Block> block = under_->Allocate(request);
  std::lock_guard lock(mutex_);
  if (!block.ok()) {
    ++seen_.failures;
    return block;
  }
  seen_.allocated += block->size;
  seen_.peak_allocated = std::max(seen_.peak_allocated, seen_.allocated);
  ++seen_.allocations;
  ++seen_.live_blocks;
  Tell(MemoryEvent::Kind::kAllocate, *block, request.stream, request.tag);
  return block;
}

Status ObservingAllocator::Free(const Block& block) {
  PLIMSOLL_TRY(under_->Free(block));
  if (block.key == BlockKey()) return Status();
  std::lock_guard lock(mutex_);
  seen_.allocated -= block.size;
  ++seen_.frees;
  --seen_.live_blocks;
  Tell(MemoryEvent::Kind::kFree, block, StreamId(), {});
  return Status();
}

Status ObservingAllocator::RecordStream(const Block& block, StreamId stream) {
  return under_->RecordStream(block, stream);
}

Result<Bytes> ObservingAllocator::Trim() { return under_->Trim(); }

MemoryStatistics ObservingAllocator::statistics() const {
  const MemoryStatistics below = under_->statistics();
  std::lock_guard lock(mutex_);
  MemoryStatistics statistics = seen_;
  statistics.reserved = below.reserved;
  statistics.peak_reserved = below.peak_reserved;
  statistics.largest_free_run = below.largest_free_run;
  return statistics;
}

}  // namespace plimsoll::memory
