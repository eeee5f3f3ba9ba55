#pragma once

#include <mutex>
#include <unordered_map>
#include <vector>

#include "device/cpu/chunk_storage.h"
#include "device/cpu/cpu_streams.h"
#include "device/memory_table.h"
#include "plimsoll/device/cpu_device.h"

namespace plimsoll::device {

// The memory side of CpuDevice; its contract is there.
class CpuMemory : public DeviceMemory {
 public:
  static constexpr Bytes kPlainAlignment = Bytes(512);

  CpuMemory(const CpuOptions& options, CpuStreams& streams);
  ~CpuMemory() override;

  Bytes Granularity(DeviceId device) const override;
  Result<AddressRange> ReserveAddress(DeviceId device, Bytes size, Bytes alignment) override;
  Status ReleaseAddress(DeviceId device, AddressRange range) override;
  Result<ChunkId> CreateChunk(DeviceId device, Bytes size, const ChunkOptions& options) override;
  Status DestroyChunk(DeviceId device, ChunkId chunk) override;
  Status Map(DeviceId device, Address at, ChunkId chunk) override;
  Status Unmap(DeviceId device, Address at, Bytes size) override;
  Status SetAccess(DeviceId device, Address at, Bytes size) override;
  Result<Address> AllocatePlain(DeviceId device, Bytes size, MemoryType type) override;
  Status FreePlain(DeviceId device, Address at) override;
  Status RegisterHost(DeviceId device, Address at, Bytes size) override;
  Status UnregisterHost(DeviceId device, Address at) override;
  Result<MemoryInfo> Info(DeviceId device) const override;

  Status CheckDevice(DeviceCall call, DeviceId device) const;
  // Checks what work touches, narrows its reach and enqueues it, with no unmap in between.
  Status EnqueueTouching(DeviceCall call, DeviceId device, StreamId stream,
                         std::vector<CpuStream::Item> items);

 private:
  Status TakeCapacity(DeviceCall call, DeviceId device, Bytes size);
  Status CheckIdle(DeviceCall call, DeviceId device, Address at, Bytes size) const;
  StoredChunk& StoredAt(const MappingRecord& mapping) { return stored_.at(mapping.chunk); }

  const CpuOptions options_;
  CpuStreams& streams_;
  mutable std::mutex mutex_;
  MemoryTable table_;
  ChunkStorage storage_;
  std::unordered_map<ChunkId, StoredChunk> stored_;
  std::vector<Bytes> used_;             // by device
  std::vector<bool> said_unsupported_;  // by device
  const Bytes total_;
};

}  // namespace plimsoll::device
