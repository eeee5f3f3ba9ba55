#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "device/cpu/cpu_stream.h"
#include "plimsoll/device/device.h"
#include "plimsoll/device/device_call.h"

namespace plimsoll::device {

// The streams and events of the cpu devices, by id. Ids are never used twice. Thread-safe; no lock
// is held while a call waits. Devices named here are known to exist.
class CpuStreams {
 public:
  Result<StreamId> Create(DeviceId device);
  Status Destroy(DeviceId device, StreamId stream);
  Result<EventId> Record(DeviceId device, StreamId stream);
  Result<bool> Reached(DeviceId device, EventId event);
  Status Wait(DeviceId device, StreamId stream, EventId event);
  Status DestroyEvent(DeviceId device, EventId event);
  Status Enqueue(DeviceCall call, DeviceId device, StreamId stream, CpuStream::Work work,
                 std::vector<AddressRange> uses);
  Status Synchronize(DeviceId device, StreamId stream);
  Status SynchronizeDevice(DeviceId device);

  // A stream with a pending copy or fill that touches [at, at + size), or nothing.
  std::optional<StreamId> PendingUser(Address at, Bytes size) const;
  // Finishes all work and ends all streams.
  void Finish();

 private:
  struct Event {
    DeviceId device;
    std::shared_ptr<const StreamProgress> progress;
    uint64_t position = 0;
  };
  Result<CpuStream*> Find(DeviceCall call, DeviceId device, StreamId stream) const;
  Result<Event> FindEvent(DeviceCall call, DeviceId device, EventId event) const;

  mutable std::mutex mutex_;
  std::unordered_map<StreamId, std::unique_ptr<CpuStream>> streams_;
  std::unordered_map<EventId, Event> events_;
  size_t next_stream_ = 0;
  size_t next_event_ = 0;
};

}  // namespace plimsoll::device
