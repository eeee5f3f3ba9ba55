// The part of DeviceHeap that counts and tells.
#include "core/device_heap.h"
#include "core/physical_counter.h"
#include "plimsoll/memory/physical_memory_allocator.h"

namespace plimsoll::pytorch {

HeapStatistics DeviceHeap::statistics() {
  const std::lock_guard lock(mutex_);
  HeapStatistics statistics = statistics_;
  const memory::MemoryStatistics main = main_->statistics();
  statistics.segment = counter_->chunks;
  statistics.reserved_bytes = counter_->bytes;
  // What the allocator still holds of blocks that were freed here waits for other streams.
  int64_t main_bytes = 0;
  int64_t main_blocks = 0;
  held_.ForEach([&](const Held& block) {
    if (block.pool != nullptr) return;
    main_bytes += block.requested;
    ++main_blocks;
  });
  if (!options_.guarded) {
    statistics.pending_bytes += main.allocated.value() - main_bytes;
    statistics.pending_blocks += main.live_blocks - main_blocks;
  }
  statistics.streams = static_cast<int64_t>(streams_.size());
  for (const Stream& stream : streams_) statistics.stream_peaks += stream.allocated.peak;
  statistics.largest_free = main.largest_free_run.value();
  for (const auto& [id, pool] : pools_) statistics.pool_bytes += pool->reserved();
  statistics.limit = physical_->limit().saturated() ? 0 : physical_->limit().value();
  return statistics;
}

void DeviceHeap::ResetPeak() {
  const std::lock_guard lock(mutex_);
  statistics_.ChangeAll(&Counter::ResetPeak);
  counter_->chunks.ResetPeak();
  counter_->bytes.ResetPeak();
  physical_->ResetPeak();
  for (Stream& stream : streams_) stream.allocated.ResetPeak();
}

void DeviceHeap::ResetAccumulated() {
  const std::lock_guard lock(mutex_);
  statistics_.ChangeAll(&Counter::ResetAccumulated);
  counter_->chunks.ResetAccumulated();
  counter_->bytes.ResetAccumulated();
  statistics_.alloc_retries = statistics_.ooms = statistics_.sync_all_streams = 0;
}

void DeviceHeap::Observe(bool on) {
  const std::lock_guard lock(mutex_);
  if (on == observed_ || options_.observer == nullptr) return;
  observed_ = counter_->passes = on;
  // What was taken while nobody listened comes as one event, and what was given back likewise.
  MemoryEvent event;
  event.device = options_.id.ordinal;
  event.tag = "before recording";
  event.kind = on ? MemoryEvent::Kind::kReserve : MemoryEvent::Kind::kRelease;
  event.bytes = physical_->reserved();
  if (event.bytes > Bytes(0)) options_.observer->OnMemoryEvent(event);
  event.kind = on ? MemoryEvent::Kind::kAllocate : MemoryEvent::Kind::kFree;
  held_.ForEach([&](const Held& block) {
    event.address = block.address;
    event.bytes = Bytes(BlockBytes(block.requested));
    options_.observer->OnMemoryEvent(event);
  });
}

void DeviceHeap::Tell(MemoryEvent::Kind kind, const Held& block, std::string_view tag) {
  MemoryEvent event;
  event.kind = kind;
  event.device = options_.id.ordinal;
  event.stream = block.stream;
  event.address = block.address;
  event.bytes = Bytes(BlockBytes(block.requested));
  event.tag = tag;
  event.allocated = Bytes(statistics_.allocated_bytes[0].current);
  event.reserved = physical_->reserved();
  options_.observer->OnMemoryEvent(event);
}

}  // namespace plimsoll::pytorch
