#pragma once

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "engine/forwarding_device_for_tests.h"

namespace plimsoll::engine {

// A device whose streams do nothing until the caller waits for one: then they run in the caller's
// thread, always the most preferred stream that waits for no event. Whatever a program forgot to
// wait for shows in every run in the same way. For one thread.
class ScheduledDevice final : public ForwardingDevice {
 public:
  // `preferred`: numbers of streams in the order of making, the most eager one first. Streams that
  // are not listed come last.
  ScheduledDevice(std::shared_ptr<Device> under, std::vector<size_t> preferred)
      : ForwardingDevice(std::move(under)), preferred_(std::move(preferred)) {}

  int64_t events() const { return static_cast<int64_t>(events_.size()); }  // not destroyed yet

  Result<device::StreamId> CreateStream(Id) override {
    const device::StreamId stream(streams_.size());
    streams_.emplace_back();
    if (std::find(preferred_.begin(), preferred_.end(), stream.index()) == preferred_.end()) {
      preferred_.push_back(stream.index());
    }
    return stream;
  }
  Status DestroyStream(Id, device::StreamId) override { return {}; }
  Result<device::EventId> RecordEvent(Id, device::StreamId stream) override {
    const device::EventId event(next_event_++);
    auto reached = std::make_shared<bool>(false);
    events_[event] = reached;
    streams_[stream.index()].push_back({[reached] { *reached = true; }, nullptr});
    return event;
  }
  Result<bool> EventReached(Id, device::EventId event) override { return *events_.at(event); }
  Status WaitEvent(Id, device::StreamId stream, device::EventId event) override {
    streams_[stream.index()].push_back({[] {}, events_.at(event)});
    return {};
  }
  Status DestroyEvent(Id, device::EventId event) override {
    events_.erase(event);
    return {};
  }
  Status Copy(Id id, device::StreamId stream, device::Address to, device::Address from,
              Bytes size) override {
    return LaunchHost(id, stream, [=] {
      std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from),
                  static_cast<size_t>(size.value()));
    });
  }
  Status Fill(Id id, device::StreamId stream, device::Address at, uint8_t value,
              Bytes size) override {
    return LaunchHost(id, stream, [=] {
      std::memset(reinterpret_cast<void*>(at), value, static_cast<size_t>(size.value()));
    });
  }
  Status Enqueue(Id id, device::StreamId stream, device::StreamWork work) override {
    return LaunchHost(id, stream, [this, id, stream, work = std::move(work)] {
      work(device::StreamContext{*this, id, stream});
    });
  }
  Status LaunchHost(Id, device::StreamId stream, std::function<void()> work) override {
    streams_[stream.index()].push_back({std::move(work), nullptr});
    return {};
  }
  Status SynchronizeEvent(Id, device::EventId event) override {
    while (!*events_.at(event)) {
      if (!RunOne()) return Stuck();
    }
    return {};
  }
  Status SynchronizeStream(Id, device::StreamId stream) override {
    while (!streams_[stream.index()].empty()) {
      if (!RunOne()) return Stuck();
    }
    return {};
  }
  Status SynchronizeDevice(Id id) override {
    for (size_t i = 0; i < streams_.size(); ++i) {
      PLIMSOLL_TRY(SynchronizeStream(id, device::StreamId(i)));
    }
    return {};
  }

 private:
  struct Item {
    std::function<void()> work;
    std::shared_ptr<const bool> waits_for;  // null: nothing
  };

  static Error Stuck() {
    return {ErrorKind::kRunFailed, "device.stuck", "streams wait for each other", "", "", ""};
  }

  bool RunOne() {
    for (const size_t number : preferred_) {
      if (number >= streams_.size() || streams_[number].empty()) continue;
      if (const auto& awaited = streams_[number].front().waits_for; awaited && !*awaited) continue;
      const Item item = std::move(streams_[number].front());
      streams_[number].pop_front();
      item.work();
      return true;
    }
    return false;
  }

  std::vector<size_t> preferred_;
  std::vector<std::deque<Item>> streams_;
  std::map<device::EventId, std::shared_ptr<bool>> events_;
  size_t next_event_ = 0;
};

}  // namespace plimsoll::engine
