#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "device/cpu/cpu_stream.h"
#include "device/recordings.h"
#include "plimsoll/device/device.h"
#include "plimsoll/device/device_call.h"

namespace plimsoll::device {

// The streams and events of the cpu devices, by id. Ids are never used twice. Thread-safe; no lock
// is held while a call waits. Devices named here are known to exist.
class CpuStreams {
 public:
  using Clock = std::function<std::chrono::nanoseconds()>;
  // `clock` tells the time of timed events; null: the system's own that never goes back.
  explicit CpuStreams(Clock clock);

  Result<StreamId> Create(DeviceId device);
  Status Destroy(DeviceId device, StreamId stream);
  Result<EventId> Record(DeviceId device, StreamId stream);
  Result<EventId> RecordTimed(DeviceId device, StreamId stream);
  Result<bool> Reached(DeviceId device, EventId event);
  Status Wait(DeviceId device, StreamId stream, EventId event);
  Status SynchronizeEvent(DeviceId device, EventId event);
  Result<std::chrono::nanoseconds> Elapsed(DeviceId device, EventId from, EventId to);
  Status DestroyEvent(DeviceId device, EventId event);
  // Enqueues the items in this order with no other between them, or adds them to the stream's
  // recording.
  Status Enqueue(DeviceCall call, DeviceId device, StreamId stream,
                 std::vector<CpuStream::Item> items);
  Status BeginRecording(DeviceId device, StreamId stream);
  Result<RecordingId> EndRecording(DeviceId device, StreamId stream);
  Result<std::vector<CpuStream::Item>> Recorded(DeviceId device, RecordingId recording) const;
  Status DestroyRecording(DeviceId device, RecordingId recording);
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
    std::shared_ptr<const std::atomic<int64_t>> time_ns = nullptr;  // null: it keeps no time
  };
  Result<CpuStream*> Find(DeviceCall call, DeviceId device, StreamId stream) const;
  Result<CpuStream*> FindNotRecording(DeviceCall call, DeviceId device, StreamId stream) const;
  Result<Event> FindEvent(DeviceCall call, DeviceId device, EventId event) const;
  Result<Event> FindOwnEvent(DeviceCall call, DeviceId device, EventId event) const;

  const Clock clock_;
  mutable std::mutex mutex_;
  std::unordered_map<StreamId, std::unique_ptr<CpuStream>> streams_;
  std::unordered_map<EventId, Event> events_;
  Recordings<CpuStream::Item> recordings_;
  size_t next_stream_ = 0;
  size_t next_event_ = 0;
};

}  // namespace plimsoll::device
