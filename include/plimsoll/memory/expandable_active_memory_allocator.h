#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "plimsoll/device/reservation.h"
#include "plimsoll/memory/active_memory.h"
#include "plimsoll/memory/physical_memory_allocator.h"

namespace plimsoll::device {
class AddressSpace;
}

namespace plimsoll::memory {

// Of an address range.
struct ExpandableOptions {
  Bytes reservation = device::DefaultReservation();  // of addresses, at a time
};

// An address range that grows and shrinks by mapping physical chunks. Addresses are reserved far
// ahead and cost nothing; physical memory follows on demand. Homes grow upwards in one range, so
// that neighbours in time are neighbours in address; stitched ranges lie in another. Access is set
// once for each run of chunks that a call maps.
//
// Thread-safe: one recursive mutex. Cost of Grow: one create, map and access per chunk. A call that
// fails halfway undoes what it did. Failures: the device's errors, "memory.limit".
class ExpandableActiveMemoryAllocator final : public ActiveMemory {
 public:
  // Fails where the device cannot reserve addresses.
  static Result<std::unique_ptr<ExpandableActiveMemoryAllocator>> Create(
      std::shared_ptr<PhysicalMemoryAllocator> physical, ExpandableOptions options = {});
  // Unmaps everything and releases the addresses; pending work must have been waited for.
  ~ExpandableActiveMemoryAllocator() override;

  Result<std::vector<ActiveChunk>> Grow(const GrowRequest& request) override;
  Result<device::Address> Stitch(std::span<const ActiveChunk> chunks) override;
  Status Unstitch(device::Address at) override;
  Status Shrink(const ActiveChunk& chunk) override;
  Status Pause() override;
  Status Resume() override;
  bool stitches() const override { return true; }
  Bytes granularity() const override { return granularity_; }

  Bytes mapped() const;  // homes only: each chunk once

 private:
  struct Home {
    Bytes size;
    device::ChunkId chunk;  // none while paused
  };
  struct Run {  // chunks mapped side by side a second time
    std::vector<device::Address> homes;
    std::vector<device::ChunkId> chunks;  // empty while paused
    Bytes size;
  };

  ExpandableActiveMemoryAllocator(std::shared_ptr<PhysicalMemoryAllocator> physical,
                                  device::AddressRange homes, device::AddressRange stitched);
  // Maps the chunks side by side and sets access once, or maps nothing.
  Status MapRun(device::Address at, std::span<const device::ChunkId> chunks,
                std::span<const Bytes> sizes);
  Status UnmapRun(device::Address at, Bytes size);
  Status MapStitched(device::Address at, Run& run);
  Status UnmapStitched(device::Address at, Run& run);
  Status UnmapHome(device::Address at, Home& home);

  mutable std::recursive_mutex mutex_;
  std::shared_ptr<PhysicalMemoryAllocator> physical_;
  const Bytes granularity_;
  const device::AddressRange home_range_;
  const device::AddressRange stitched_range_;
  std::unique_ptr<device::AddressSpace> home_space_;
  std::unique_ptr<device::AddressSpace> stitched_space_;
  std::map<device::Address, Home> homes_;
  std::map<device::Address, Run> stitched_;
  Bytes device_total_;  // 0: the device did not say
  Bytes mapped_;
  bool paused_ = false;
};

}  // namespace plimsoll::memory
