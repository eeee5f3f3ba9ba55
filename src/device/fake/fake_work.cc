#include "device/fake/fake_work.h"

#include <algorithm>
#include <utility>

namespace plimsoll::device {

StreamId FakeWork::CreateStream(DeviceId device) {
  const StreamId stream(next_stream_++);
  streams_[stream].device = device;
  return stream;
}

bool FakeWork::HasStream(DeviceId device, StreamId stream) const {
  const auto found = streams_.find(stream);
  return found != streams_.end() && found->second.device == device;
}

EventId FakeWork::RecordEvent(DeviceId device, StreamId stream, std::optional<int64_t> time_ns) {
  const Stream& record = streams_.at(stream);
  const EventId event(next_event_++);
  events_.emplace(event, Event{device, stream, record.completed + record.pending.size(), time_ns});
  return event;
}

const FakeWork::Event* FakeWork::FindEvent(EventId event) const {
  const auto found = events_.find(event);
  return found == events_.end() ? nullptr : &found->second;
}

bool FakeWork::Reached(const Event& event) const {
  const auto stream = streams_.find(event.stream);
  return stream == streams_.end() || stream->second.completed >= event.position;
}

void FakeWork::Enqueue(StreamId stream, Item item) {
  if (std::vector<Item>* recording = recordings_.Open(stream)) {
    recording->push_back(std::move(item));
    return;
  }
  Stream& record = streams_.at(stream);
  item.ticket = next_ticket_++;
  if (item.uses_all_memory) {
    ++record.using_all_memory;
    record.last_using_all_memory = item.ticket;
  }
  record.pending.push_back(std::move(item));
}

void FakeWork::EnqueueWait(StreamId stream, const Event& event) {
  if (Reached(event)) return;
  Item item;
  item.waits_for = event.stream;
  item.waits_until = event.position;
  Enqueue(stream, std::move(item));
}

int64_t FakeWork::PendingOn(StreamId stream) const {
  const auto found = streams_.find(stream);
  return found == streams_.end() ? 0 : static_cast<int64_t>(found->second.pending.size());
}

std::optional<StreamId> FakeWork::PendingUser(DeviceId device, Address at, Bytes size,
                                              uint64_t since) const {
  std::optional<StreamId> lowest;
  for (const auto& [id, stream] : streams_) {
    if (lowest && *lowest < id) continue;
    const bool used =
        (stream.device == device && stream.using_all_memory > 0 &&
         stream.last_using_all_memory >= since) ||
        std::any_of(stream.pending.begin(), stream.pending.end(), [&](const Item& item) {
          return std::any_of(item.uses.begin(), item.uses.end(),
                             [&](const Touch& touch) { return Overlap(touch.range, at, size); });
        });
    if (used) lowest = id;
  }
  return lowest;
}

std::vector<Work> FakeWork::Complete(StreamId stream, int64_t items) {
  const auto found = streams_.find(stream);
  if (found == streams_.end() || items <= 0) return {};
  const auto count = std::min<uint64_t>(items, found->second.pending.size());
  return CompleteUntil({{stream, found->second.completed + count}});
}

std::vector<Work> FakeWork::CompleteEvent(const Event& event) {
  return CompleteUntil({{event.stream, event.position}});
}

std::vector<Work> FakeWork::CompleteDevice(DeviceId device) {
  std::vector<Target> targets;
  for (const auto& [id, stream] : streams_) {
    if (stream.device == device) {
      targets.push_back({id, stream.completed + stream.pending.size()});
    }
  }
  return CompleteUntil(std::move(targets));
}

std::vector<Work> FakeWork::CompleteUntil(std::vector<Target> targets) {
  std::vector<Item> done;
  while (!targets.empty()) {
    const Target target = targets.back();
    targets.pop_back();
    const auto found = streams_.find(target.stream);
    if (found == streams_.end()) continue;
    Stream& stream = found->second;
    while (stream.completed < target.position) {
      Item& item = stream.pending.front();
      if (item.waits_for.valid()) targets.push_back({item.waits_for, item.waits_until});
      stream.using_all_memory -= item.uses_all_memory ? 1 : 0;
      done.push_back(std::move(item));
      stream.pending.pop_front();
      ++stream.completed;
    }
  }
  std::sort(done.begin(), done.end(),
            [](const Item& a, const Item& b) { return a.ticket < b.ticket; });
  std::vector<Work> works;
  for (Item& item : done) {
    if (item.work) works.push_back(std::move(item.work));
  }
  return works;
}

}  // namespace plimsoll::device
