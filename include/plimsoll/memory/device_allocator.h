#pragma once

#include <memory>
#include <span>
#include <vector>

#include "plimsoll/memory/active_memory.h"
#include "plimsoll/memory/expandable_active_memory_allocator.h"
#include "plimsoll/memory/physical_memory_allocator.h"

namespace plimsoll::memory {

// The bridge from a pool, which belongs to one stream, to the device. It chooses the expandable
// range where the device can reserve addresses and plain memory where it cannot, and it keeps the
// order of release: it synchronises the stream before anything is unmapped or given back, and the
// objects that it holds keep the device alive until then.
//
// Thread-safe as far as what lies below it is; one pool uses one bridge. The stream must exist as
// long as the bridge.
class DeviceAllocator {
 public:
  DeviceAllocator(std::shared_ptr<PhysicalMemoryAllocator> physical, device::StreamId stream,
                  ExpandableOptions options = {});
  // Synchronises the stream, then releases the memory, then lets go of the device.
  ~DeviceAllocator();
  DeviceAllocator(const DeviceAllocator&) = delete;
  DeviceAllocator& operator=(const DeviceAllocator&) = delete;

  Result<std::vector<ActiveChunk>> Grow(const GrowRequest& request);
  Result<device::Address> Stitch(std::span<const ActiveChunk> chunks);
  // Waits for the stream, or for the device where there is none.
  Status Synchronize();
  // An event behind all work that the stream has in hand; whether it has passed, in which case it
  // is gone. Neither waits. There must be a stream.
  Result<device::EventId> Mark();
  Result<bool> Passed(device::EventId mark);
  Status Forget(device::EventId mark);
  // Undoes a stitched range whose work has passed.
  Status Unstitch(device::Address at) { return active_->Unstitch(at); }
  // Waits for the stream, unless its work on them is known to have `finished`, then undoes the
  // stitched ranges and gives the chunks back to the physical allocator. `stitched` and `chunks`
  // lose what was given back; after a failure they hold the rest.
  Status Release(std::vector<device::Address>& stitched, std::vector<ActiveChunk>& chunks,
                 bool finished);
  Status Pause();
  Status Resume();

  bool stitches() const { return active_->stitches(); }
  Bytes granularity() const { return active_->granularity(); }
  device::StreamId stream() const { return stream_; }
  PhysicalMemoryAllocator& physical() const { return *physical_; }

 private:
  std::shared_ptr<PhysicalMemoryAllocator> physical_;
  const device::StreamId stream_;
  std::unique_ptr<ActiveMemory> active_;
};

}  // namespace plimsoll::memory
