#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "plimsoll/base/bytes.h"
#include "plimsoll/base/memory_observer.h"
#include "plimsoll/base/status.h"
#include "plimsoll/device/device.h"

namespace plimsoll::memory {

using device::ChunkId;
using device::ChunkOptions;

// Of one device's physical memory.
struct PhysicalMemoryOptions {
  Bytes limit = Bytes(kSaturated);  // a hard limit on what is taken from the device
  ChunkOptions chunks;
  MemoryObserver* observer = nullptr;  // outlives the allocator
};

// Physical chunks of one device, shared by every address range that maps them. A chunk is counted:
// each mapping holds one reference, and the last one gives the chunk back to a cache, from where a
// later Acquire of the same size takes it without a device call. Only Trim destroys chunks, and
// Acquire does so when the device or the limit refuses to create one.
//
// Thread-safe: one recursive mutex, held during device calls, so that an observer may call back.
// Keeps the device alive. Failures: "memory.limit" (kDoesNotFit), or the device's own error.
class PhysicalMemoryAllocator {
 public:
  PhysicalMemoryAllocator(std::shared_ptr<device::Device> device, device::DeviceId id,
                          PhysicalMemoryOptions options = {});
  // Destroys the cached chunks, which are all of them: ranges that map chunks hold this object.
  ~PhysicalMemoryAllocator();
  PhysicalMemoryAllocator(const PhysicalMemoryAllocator&) = delete;
  PhysicalMemoryAllocator& operator=(const PhysicalMemoryAllocator&) = delete;

  // A chunk with one reference.
  Result<ChunkId> Acquire(Bytes size);
  void AddReference(ChunkId chunk);
  void Release(ChunkId chunk);
  // Plain memory, for devices without address reservation; counted in reserved bytes as well.
  Result<device::Address> AcquirePlain(Bytes size);
  Status ReleasePlain(device::Address address);
  // Destroys the cached chunks; returns their bytes.
  Result<Bytes> Trim();

  // Whether address ranges can be reserved; false for ever once a reservation has failed.
  bool reserves_addresses() const;
  void MarkUnableToReserve();

  device::Device& device() const { return *device_; }
  device::DeviceId id() const { return id_; }
  const PhysicalMemoryOptions& options() const { return options_; }
  Bytes reserved() const;       // chunks and plain blocks taken from the device
  Bytes peak_reserved() const;  // the most there ever were
  Bytes cached() const;         // the part of it that no range maps
  Bytes limit() const;
  // What goes beyond a lower one is kept; the next request for more is refused.
  void SetLimit(Bytes limit);
  void ResetPeak();
  // Tells the observer, where there is one. Ranges report their mappings through it.
  void Report(MemoryEvent::Kind kind, device::Address address, Bytes size);

 private:
  struct Chunk {
    Bytes size;
    int64_t references = 0;
  };

  Status CheckLimit(Bytes size) const;
  void Took(Bytes size);

  mutable std::recursive_mutex mutex_;
  std::shared_ptr<device::Device> device_;
  const device::DeviceId id_;
  PhysicalMemoryOptions options_;
  std::unordered_map<ChunkId, Chunk> chunks_;
  std::map<int64_t, std::vector<ChunkId>> cache_;  // by size
  std::unordered_map<device::Address, Bytes> plain_;
  Bytes reserved_;
  Bytes peak_reserved_;
  Bytes cached_;
  bool reserves_addresses_ = true;
};

}  // namespace plimsoll::memory
