#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "plimsoll/device/cpu_device.h"
#include "plimsoll/device/device.h"

namespace plimsoll::device {

// The processor as a device whose memory the host cannot touch: for tests of whatever must run on a
// GPU, on machines that have none.
//
// Its addresses are none that a processor accepts (bit 62 is set), so that any access by the host
// faults. Copies and fills reach them, and so does work on its streams, by the pointers that
// WorkPointer gives. Memory of type kHost is the host's own, at addresses as on the CPU. All else
// is as on CpuDevice.
class FarDevice final : public Device, private DeviceMemory {
 public:
  explicit FarDevice(CpuOptions options = {});

  std::string Kind() const override { return "far"; }
  int Count() const override { return cpu_.Count(); }
  DeviceMemory& memory() override { return *this; }
  DeviceProperties Properties(DeviceId device) const override;
  void* WorkPointer(DeviceId device, Address at) const override;
  DeviceId Current() const override { return cpu_.Current(); }
  Status SetCurrent(DeviceId device) override;
  Status BindThread(DeviceId device) override;
  Status UnbindThread(DeviceId device) override;
  Result<StreamId> CreateStream(DeviceId device) override;
  Status DestroyStream(DeviceId device, StreamId stream) override;
  Result<EventId> RecordEvent(DeviceId device, StreamId stream) override;
  Result<EventId> RecordTimedEvent(DeviceId device, StreamId stream) override;
  Result<bool> EventReached(DeviceId device, EventId event) override;
  Status WaitEvent(DeviceId device, StreamId stream, EventId event) override;
  Status SynchronizeEvent(DeviceId device, EventId event) override;
  Result<std::chrono::nanoseconds> ElapsedTime(DeviceId device, EventId from, EventId to) override;
  Status DestroyEvent(DeviceId device, EventId event) override;
  Status Copy(DeviceId device, StreamId stream, Address to, Address from, Bytes size) override;
  Status Fill(DeviceId device, StreamId stream, Address at, uint8_t value, Bytes size) override;
  Status Enqueue(DeviceId device, StreamId stream, StreamWork work) override;
  Status LaunchHost(DeviceId device, StreamId stream, std::function<void()> work) override;
  Status BeginRecording(DeviceId device, StreamId stream) override;
  Result<RecordingId> EndRecording(DeviceId device, StreamId stream) override;
  Status ReplayRecording(DeviceId device, StreamId stream, RecordingId recording) override;
  Status DestroyRecording(DeviceId device, RecordingId recording) override;
  Status SynchronizeStream(DeviceId device, StreamId stream) override;
  Status SynchronizeDevice(DeviceId device) override;

 private:
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

  mutable CpuDevice cpu_;
};

}  // namespace plimsoll::device
