#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "plimsoll/device/device.h"

namespace plimsoll::engine {

// A device that hands every call to another one, for tests that change some of the calls.
class ForwardingDevice : public device::Device, protected device::DeviceMemory {
 public:
  using Id = device::DeviceId;
  explicit ForwardingDevice(std::shared_ptr<Device> under) : under_(std::move(under)) {}

  std::string Kind() const override { return under_->Kind(); }
  int Count() const override { return under_->Count(); }
  DeviceMemory& memory() override { return *this; }
  device::DeviceProperties Properties(Id id) const override { return under_->Properties(id); }
  void* WorkPointer(Id id, device::Address at) const override {
    return under_->WorkPointer(id, at);
  }
  Id Current() const override { return under_->Current(); }
  Status SetCurrent(Id id) override { return under_->SetCurrent(id); }
  Status BindThread(Id id) override { return under_->BindThread(id); }
  Status UnbindThread(Id id) override { return under_->UnbindThread(id); }
  Result<device::StreamId> CreateStream(Id id) override { return under_->CreateStream(id); }
  Status DestroyStream(Id id, device::StreamId stream) override {
    return under_->DestroyStream(id, stream);
  }
  Result<device::EventId> RecordEvent(Id id, device::StreamId stream) override {
    return under_->RecordEvent(id, stream);
  }
  Result<device::EventId> RecordTimedEvent(Id id, device::StreamId stream) override {
    return under_->RecordTimedEvent(id, stream);
  }
  Result<bool> EventReached(Id id, device::EventId event) override {
    return under_->EventReached(id, event);
  }
  Status WaitEvent(Id id, device::StreamId stream, device::EventId event) override {
    return under_->WaitEvent(id, stream, event);
  }
  Status SynchronizeEvent(Id id, device::EventId event) override {
    return under_->SynchronizeEvent(id, event);
  }
  Result<std::chrono::nanoseconds> ElapsedTime(Id id, device::EventId from,
                                               device::EventId to) override {
    return under_->ElapsedTime(id, from, to);
  }
  Status DestroyEvent(Id id, device::EventId event) override {
    return under_->DestroyEvent(id, event);
  }
  Status Copy(Id id, device::StreamId stream, device::Address to, device::Address from,
              Bytes size) override {
    return under_->Copy(id, stream, to, from, size);
  }
  Status Fill(Id id, device::StreamId stream, device::Address at, uint8_t value,
              Bytes size) override {
    return under_->Fill(id, stream, at, value, size);
  }
  Status Enqueue(Id id, device::StreamId stream, device::StreamWork work) override {
    return under_->Enqueue(id, stream, std::move(work));
  }
  Status LaunchHost(Id id, device::StreamId stream, std::function<void()> work) override {
    return under_->LaunchHost(id, stream, std::move(work));
  }
  Status BeginRecording(Id id, device::StreamId stream) override {
    return under_->BeginRecording(id, stream);
  }
  Result<device::RecordingId> EndRecording(Id id, device::StreamId stream) override {
    return under_->EndRecording(id, stream);
  }
  Status ReplayRecording(Id id, device::StreamId stream, device::RecordingId recording) override {
    return under_->ReplayRecording(id, stream, recording);
  }
  Status DestroyRecording(Id id, device::RecordingId recording) override {
    return under_->DestroyRecording(id, recording);
  }
  Status SynchronizeStream(Id id, device::StreamId stream) override {
    return under_->SynchronizeStream(id, stream);
  }
  Status SynchronizeDevice(Id id) override { return under_->SynchronizeDevice(id); }

 protected:
  Bytes Granularity(Id id) const override { return under_->memory().Granularity(id); }
  Result<device::AddressRange> ReserveAddress(Id id, Bytes size, Bytes alignment) override {
    return under_->memory().ReserveAddress(id, size, alignment);
  }
  Status ReleaseAddress(Id id, device::AddressRange range) override {
    return under_->memory().ReleaseAddress(id, range);
  }
  Result<device::ChunkId> CreateChunk(Id id, Bytes size,
                                      const device::ChunkOptions& options) override {
    return under_->memory().CreateChunk(id, size, options);
  }
  Status DestroyChunk(Id id, device::ChunkId chunk) override {
    return under_->memory().DestroyChunk(id, chunk);
  }
  Status Map(Id id, device::Address at, device::ChunkId chunk) override {
    return under_->memory().Map(id, at, chunk);
  }
  Status Unmap(Id id, device::Address at, Bytes size) override {
    return under_->memory().Unmap(id, at, size);
  }
  Status SetAccess(Id id, device::Address at, Bytes size) override {
    return under_->memory().SetAccess(id, at, size);
  }
  Result<device::Address> AllocatePlain(Id id, Bytes size, device::MemoryType type) override {
    return under_->memory().AllocatePlain(id, size, type);
  }
  Status FreePlain(Id id, device::Address at) override {
    return under_->memory().FreePlain(id, at);
  }
  Status RegisterHost(Id id, device::Address at, Bytes size) override {
    return under_->memory().RegisterHost(id, at, size);
  }
  Status UnregisterHost(Id id, device::Address at) override {
    return under_->memory().UnregisterHost(id, at);
  }
  Result<device::MemoryInfo> Info(Id id) const override { return under_->memory().Info(id); }

  const std::shared_ptr<Device> under_;
};

}  // namespace plimsoll::engine
