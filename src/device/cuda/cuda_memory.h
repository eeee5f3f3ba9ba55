#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "device/cuda/cuda_cards.h"
#include "device/cuda/cuda_streams.h"
#include "device/cuda/host_registrations.h"
#include "device/memory_table.h"

namespace plimsoll::device {

// The memory side of CudaDevice; its contract is there.
class CudaMemory final : public DeviceMemory {
 public:
  static constexpr Bytes kPlainAlignment = Bytes(512);

  CudaMemory(const CudaOptions& options, CudaCards& cards, CudaStreams& streams);
  // Frees everything. No work may be pending.
  ~CudaMemory() override;

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

  bool reserves_addresses(DeviceId device) const;
  // Checks what work touches and counts it as pending, with no unmap in between, and issues it.
  Status Enqueue(DeviceCall call, DeviceId device, StreamId stream, PendingWork work,
                 const std::function<Status(CudaCall&, cuda::Stream)>& issue);
  // The pieces in which a copy must be made, since the driver copies no half registered memory.
  std::vector<AddressRange> CopyPieces(Address to, Address from, Bytes size) const;

 private:
  Status TakeCapacity(const CudaCall& call, Bytes size);
  void GiveCapacityBack(DeviceId device, Bytes size) { used_[IndexOf(device)] -= size; }
  Status CheckIdle(const CudaCall& call, Address at, Bytes size) const;
  Result<AddressRange> Reserve(CudaCall& call, Bytes size, Bytes alignment);
  // The error of an allocation, with what the card says of its memory where it is full.
  Error Full(CudaCall& call, Error error) const;
  static size_t IndexOf(DeviceId device) { return static_cast<size_t>(device.ordinal); }

  const Bytes capacity_;  // 0: no limit but the card's
  const bool reserves_addresses_;
  CudaCards& cards_;
  CudaStreams& streams_;
  mutable std::mutex mutex_;
  MemoryTable table_;
  HostRegistrations registrations_;
  std::unordered_map<ChunkId, cuda::ChunkHandle> handles_;
  std::unordered_map<Address, AddressRange> wider_;  // ranges cut out of wider ones for alignment
  std::vector<Bytes> used_;                          // by device
  std::vector<bool> said_unsupported_;               // by device
};

}  // namespace plimsoll::device
