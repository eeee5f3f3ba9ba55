#pragma once

#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "plimsoll/device/device.h"
#include "plimsoll/device/device_call.h"

namespace plimsoll::device {

// A device that counts and times the calls made to another one, and fails those that it is told to:
// the way to test faults over real memory. Adds two readings of the clock to each call. For one
// thread.
class WatchedDevice final : public Device, private DeviceMemory {
 public:
  explicit WatchedDevice(std::shared_ptr<Device> under) : under_(std::move(under)) {}

  const std::array<int64_t, kDeviceCallCount>& calls() const { return calls_; }
  int64_t total() const { return total_; }
  // In all calls but those that wait for work.
  std::chrono::nanoseconds TimeWithoutWaits() const;
  // Bytes of this type that were taken, in plain blocks and in chunks.
  Bytes taken(MemoryType type) const { return taken_[static_cast<size_t>(type)]; }
  // The call that comes after `skipped` others from now on fails with an error of this kind and
  // does nothing. One at a time: replaces what was set before.
  void FailAfter(int64_t skipped, ErrorKind kind) {
    fails_at_ = total_ + skipped;
    failure_ = kind;
  }
  void FailNoMore() { fails_at_ = -1; }

  std::string Kind() const override { return under_->Kind(); }
  int Count() const override { return under_->Count(); }
  DeviceMemory& memory() override { return *this; }
  DeviceProperties Properties(DeviceId device) const override { return under_->Properties(device); }
  void* WorkPointer(DeviceId device, Address at) const override {
    return under_->WorkPointer(device, at);
  }
  DeviceId Current() const override { return under_->Current(); }
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

  // One call: counted, timed, and failed where it is to fail.
  class Watch {
   public:
    Watch(const WatchedDevice& watched, DeviceCall call);
    ~Watch();
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;
    Status Begin(DeviceId device) const;

   private:
    const WatchedDevice& watched_;
    const DeviceCall call_;
    const std::chrono::steady_clock::time_point start_;
  };

  std::shared_ptr<Device> under_;
  mutable std::array<int64_t, kDeviceCallCount> calls_{};
  mutable std::array<std::chrono::nanoseconds, kDeviceCallCount> time_{};
  mutable int64_t total_ = 0;
  std::array<Bytes, 3> taken_ = {};  // by type
  int64_t fails_at_ = -1;            // the number of the call, from 0
  ErrorKind failure_ = ErrorKind::kRunFailed;
};

}  // namespace plimsoll::device
