#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "engine/forwarding_device_for_tests.h"
#include "plimsoll/device/device.h"
#include "plimsoll/device/device_call.h"

namespace plimsoll::engine {

// One call that a device saw. None: the device was destroyed.
struct LoggedCall {
  std::optional<device::DeviceCall> call;
  device::DeviceId device;
  Bytes size;  // where the call names one
  bool ok = true;
};

// The calls of a device in order. Outlives it.
struct CallLog {
  std::vector<LoggedCall> calls;

  int64_t Count(device::DeviceCall call) const {
    int64_t count = 0;
    for (const LoggedCall& logged : calls) count += logged.call == call ? 1 : 0;
    return count;
  }
};

// A device that writes down the calls about memory, streams and work made to another one, whose
// memory is real. Thread-safe; the
// log may be read while no call is under way.
class LoggedDevice final : public ForwardingDevice {
 public:
  using Call = device::DeviceCall;
  LoggedDevice(std::shared_ptr<Device> under, std::shared_ptr<CallLog> log)
      : ForwardingDevice(std::move(under)), log_(std::move(log)) {}
  ~LoggedDevice() override { Write({std::nullopt, {}, {}, true}); }

  Result<device::StreamId> CreateStream(Id id) override {
    return Log(Call::kCreateStream, id, {}, under_->CreateStream(id));
  }
  Status DestroyStream(Id id, device::StreamId stream) override {
    return Log(Call::kDestroyStream, id, {}, under_->DestroyStream(id, stream));
  }
  Result<device::EventId> RecordEvent(Id id, device::StreamId stream) override {
    return Log(Call::kRecordEvent, id, {}, under_->RecordEvent(id, stream));
  }
  Result<bool> EventReached(Id id, device::EventId event) override {
    return Log(Call::kEventReached, id, {}, under_->EventReached(id, event));
  }
  Status WaitEvent(Id id, device::StreamId stream, device::EventId event) override {
    return Log(Call::kWaitEvent, id, {}, under_->WaitEvent(id, stream, event));
  }
  Status DestroyEvent(Id id, device::EventId event) override {
    return Log(Call::kDestroyEvent, id, {}, under_->DestroyEvent(id, event));
  }
  Status Copy(Id id, device::StreamId stream, device::Address to, device::Address from,
              Bytes size) override {
    return Log(Call::kCopy, id, size, under_->Copy(id, stream, to, from, size));
  }
  Status Fill(Id id, device::StreamId stream, device::Address at, uint8_t value,
              Bytes size) override {
    return Log(Call::kFill, id, size, under_->Fill(id, stream, at, value, size));
  }
  Status Enqueue(Id id, device::StreamId stream, device::StreamWork work) override {
    return Log(Call::kEnqueue, id, {}, under_->Enqueue(id, stream, std::move(work)));
  }
  Status LaunchHost(Id id, device::StreamId stream, std::function<void()> work) override {
    return Log(Call::kLaunchHost, id, {}, under_->LaunchHost(id, stream, std::move(work)));
  }
  Status SynchronizeStream(Id id, device::StreamId stream) override {
    return Log(Call::kSynchronizeStream, id, {}, under_->SynchronizeStream(id, stream));
  }
  Status SynchronizeDevice(Id id) override {
    return Log(Call::kSynchronizeDevice, id, {}, under_->SynchronizeDevice(id));
  }

 private:
  Result<device::AddressRange> ReserveAddress(Id id, Bytes size, Bytes alignment) override {
    return Log(Call::kReserveAddress, id, size,
               under_->memory().ReserveAddress(id, size, alignment));
  }
  Status ReleaseAddress(Id id, device::AddressRange range) override {
    return Log(Call::kReleaseAddress, id, range.size, under_->memory().ReleaseAddress(id, range));
  }
  Result<device::ChunkId> CreateChunk(Id id, Bytes size,
                                      const device::ChunkOptions& options) override {
    return Log(Call::kCreateChunk, id, size, under_->memory().CreateChunk(id, size, options));
  }
  Status DestroyChunk(Id id, device::ChunkId chunk) override {
    return Log(Call::kDestroyChunk, id, {}, under_->memory().DestroyChunk(id, chunk));
  }
  Status Map(Id id, device::Address at, device::ChunkId chunk) override {
    return Log(Call::kMap, id, {}, under_->memory().Map(id, at, chunk));
  }
  Status Unmap(Id id, device::Address at, Bytes size) override {
    return Log(Call::kUnmap, id, size, under_->memory().Unmap(id, at, size));
  }
  Status SetAccess(Id id, device::Address at, Bytes size) override {
    return Log(Call::kSetAccess, id, size, under_->memory().SetAccess(id, at, size));
  }
  Result<device::Address> AllocatePlain(Id id, Bytes size, device::MemoryType type) override {
    return Log(Call::kAllocatePlain, id, size, under_->memory().AllocatePlain(id, size, type));
  }
  Status FreePlain(Id id, device::Address at) override {
    return Log(Call::kFreePlain, id, {}, under_->memory().FreePlain(id, at));
  }

  template <typename Answer>
  Answer Log(Call call, Id id, Bytes size, Answer answer) {
    Write({call, id, size, answer.ok()});
    return answer;
  }
  void Write(const LoggedCall& call) {
    const std::lock_guard lock(mutex_);
    log_->calls.push_back(call);
  }

  std::mutex mutex_;
  std::shared_ptr<CallLog> log_;
};

}  // namespace plimsoll::engine
