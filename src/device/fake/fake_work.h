#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

#include "device/address_range.h"
#include "device/recordings.h"
#include "plimsoll/device/device.h"

namespace plimsoll::device {

using Work = std::function<void()>;

// Streams and events of the fake device: work waits in its stream until someone completes it, so
// what is pending is exact and never depends on time. An item that waits for another stream's event
// completes that stream up to the event first. Not thread-safe; ids are never used twice.
class FakeWork {
 public:
  struct Item {
    std::vector<Touch> uses = {};  // the memory it touches
    bool uses_all_memory = false;  // of its device: work that does not say what it touches
    Work work = nullptr;
    StreamId waits_for = {};  // none, or the stream of the event waited for
    uint64_t waits_until = 0;
    uint64_t ticket = 0;  // the place in the order of all items of all streams
  };
  struct Event {
    DeviceId device;
    StreamId stream;
    uint64_t position = 0;  // reached when this many items of the stream are complete
    std::optional<int64_t> time_ns = std::nullopt;  // none: it keeps no time
  };

  StreamId CreateStream(DeviceId device);
  bool HasStream(DeviceId device, StreamId stream) const;
  void DestroyStream(StreamId stream) { streams_.erase(stream); }
  EventId RecordEvent(DeviceId device, StreamId stream,
                      std::optional<int64_t> time_ns = std::nullopt);
  const Event* FindEvent(EventId event) const;
  bool Reached(const Event& event) const;
  void DestroyEvent(EventId event) { events_.erase(event); }

  // Adds the item to the stream's recording where there is one.
  void Enqueue(StreamId stream, Item item);
  void EnqueueWait(StreamId stream, const Event& event);
  Recordings<Item>& recordings() { return recordings_; }
  const Recordings<Item>& recordings() const { return recordings_; }
  int64_t PendingOn(StreamId stream) const;
  // How many items there have ever been.
  uint64_t enqueued() const { return next_ticket_; }
  // A stream with pending work that touches [at, at + size) of this device's memory, or nothing.
  // Work that does not say what it touches cannot know memory younger than itself, so `since` is
  // enqueued() when the memory appeared.
  std::optional<StreamId> PendingUser(DeviceId device, Address at, Bytes size,
                                      uint64_t since) const;

  // Complete work and return what is to be run for it, in the order in which it was enqueued.
  std::vector<Work> Complete(StreamId stream, int64_t items);
  std::vector<Work> CompleteEvent(const Event& event);
  std::vector<Work> CompleteDevice(DeviceId device);

  int64_t stream_count() const { return static_cast<int64_t>(streams_.size()); }
  int64_t event_count() const { return static_cast<int64_t>(events_.size()); }

 private:
  struct Stream {
    DeviceId device;
    uint64_t completed = 0;
    int64_t using_all_memory = 0;  // items pending with uses_all_memory, and the ticket of the last
    uint64_t last_using_all_memory = 0;
    std::deque<Item> pending;
  };
  struct Target {
    StreamId stream;
    uint64_t position;
  };
  std::vector<Work> CompleteUntil(std::vector<Target> targets);

  std::unordered_map<StreamId, Stream> streams_;
  std::unordered_map<EventId, Event> events_;
  Recordings<Item> recordings_;
  size_t next_stream_ = 0;
  size_t next_event_ = 0;
  uint64_t next_ticket_ = 0;
};

}  // namespace plimsoll::device
