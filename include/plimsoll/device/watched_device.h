#pragma once

#include <array>
#include <memory>
#include <string>
#include <utility>

#include "plimsoll/device/device.h"
#include "plimsoll/device/device_call.h"

namespace plimsoll::replay {

// A device that counts the calls made to another one. For one thread.
class CountingDevice final : public device::Device, private device::DeviceMemory {
 public:
  explicit CountingDevice(std::shared_ptr<device::Device> under) : under_(std::move(under)) {}

  const std::array<int64_t, device::kDeviceCallCount>& calls() const { return calls_; }
  int64_t total() const { return total_; }

  std::string Kind() const override { return under_->Kind(); }
  int Count() const override { return under_->Count(); }
  device::DeviceMemory& memory() override { return *this; }
  device::DeviceId Current() const override { return under_->Current(); }
  Status SetCurrent(device::DeviceId device) override;
  Result<device::StreamId> CreateStream(device::DeviceId device) override;
  Status DestroyStream(device::DeviceId device, device::StreamId stream) override;
  Result<device::EventId> RecordEvent(device::DeviceId device, device::StreamId stream) override;
  Result<bool> EventReached(device::DeviceId device, device::EventId event) override;
  Status WaitEvent(device::DeviceId device, device::StreamId stream,
                   device::EventId event) override;
  Status DestroyEvent(device::DeviceId device, device::EventId event) override;
  Status Copy(device::DeviceId device, device::StreamId stream, device::Address to,
              device::Address from, Bytes size) override;
  Status Fill(device::DeviceId device, device::StreamId stream, device::Address at, uint8_t value,
              Bytes size) override;
  Status Launch(device::DeviceId device, device::StreamId stream,
                std::function<void()> work) override;
  Status SynchronizeStream(device::DeviceId device, device::StreamId stream) override;
  Status SynchronizeDevice(device::DeviceId device) override;

 private:
  Bytes Granularity(device::DeviceId device) const override;
  Result<device::AddressRange> ReserveAddress(device::DeviceId device, Bytes size,
                                              Bytes alignment) override;
  Status ReleaseAddress(device::DeviceId device, device::AddressRange range) override;
  Result<device::ChunkId> CreateChunk(device::DeviceId device, Bytes size,
                                      const device::ChunkOptions& options) override;
  Status DestroyChunk(device::DeviceId device, device::ChunkId chunk) override;
  Status Map(device::DeviceId device, device::Address at, device::ChunkId chunk) override;
  Status Unmap(device::DeviceId device, device::Address at, Bytes size) override;
  Status SetAccess(device::DeviceId device, device::Address at, Bytes size) override;
  Result<device::Address> AllocatePlain(device::DeviceId device, Bytes size,
                                        device::MemoryType type) override;
  Status FreePlain(device::DeviceId device, device::Address at) override;
  Result<device::MemoryInfo> Info(device::DeviceId device) const override;

  void Count(device::DeviceCall call) const {
    ++calls_[static_cast<size_t>(call)];
    ++total_;
  }

  std::shared_ptr<device::Device> under_;
  mutable std::array<int64_t, device::kDeviceCallCount> calls_{};
  mutable int64_t total_ = 0;
};

}  // namespace plimsoll::replay
