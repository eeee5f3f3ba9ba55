#pragma once

#include "device/fake/fake_state.h"

namespace plimsoll::device {

// The memory side of FakeDevice; its contract is there.
class FakeMemory : public DeviceMemory {
 public:
  static constexpr Bytes kPlainAlignment = Bytes(512);  // what cudaMalloc promises at least

  explicit FakeMemory(FakeState& state) : state_(state) {}

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

 private:
  Status TakePages(DeviceId device, Bytes size, PagePolicy pages);
  void ReturnPages(DeviceId device, Bytes size, PagePolicy pages);
  Status CheckIdle(DeviceCall call, DeviceId device, Address at, Bytes size, uint64_t since) const;

  FakeState& state_;
};

}  // namespace plimsoll::device
