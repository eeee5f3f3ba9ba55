#include "device/cpu/cpu_streams.h"

#include <system_error>
#include <utility>

namespace plimsoll::device {
namespace {

Error Refused(DeviceCall call, DeviceId device, std::string why, std::string remedy = "") {
  return CallError(call, device, ErrorKind::kRunFailed, std::move(why), std::move(remedy));
}

Status CheckMayWait(DeviceCall call, DeviceId device) {
  if (!CpuStream::InsideWork()) return {};
  return Refused(call, device,
                 "the call comes from inside a stream's work, which would stand still",
                 "wait on the thread that launches work, or let the stream wait for an event");
}

}  // namespace

Result<CpuStream*> CpuStreams::Find(DeviceCall call, DeviceId device, StreamId stream) const {
  const auto found = streams_.find(stream);
  if (found != streams_.end() && found->second->device() == device) return found->second.get();
  return Refused(call, device, "no such stream on this device");
}

Result<CpuStreams::Event> CpuStreams::FindEvent(DeviceCall call, DeviceId device,
                                                EventId event) const {
  const auto found = events_.find(event);
  if (found != events_.end()) return found->second;
  return Refused(call, device, "no such event");
}

Result<StreamId> CpuStreams::Create(DeviceId device) {
  const std::lock_guard lock(mutex_);
  try {
    const StreamId stream(next_stream_);
    streams_.emplace(stream, std::make_unique<CpuStream>(device));
    ++next_stream_;
    return stream;
  } catch (const std::system_error& refused) {
    return CallError(DeviceCall::kCreateStream, device, ErrorKind::kDoesNotFit, refused.what(),
                     "destroy streams that are no longer used");
  }
}

Status CpuStreams::Destroy(DeviceId device, StreamId stream) {
  std::unique_ptr<CpuStream> ended;
  const std::lock_guard lock(mutex_);
  PLIMSOLL_ASSIGN(const CpuStream* found, Find(DeviceCall::kDestroyStream, device, stream));
  if (!found->idle()) {
    return Refused(DeviceCall::kDestroyStream, device, "work is pending on it",
                   "synchronise it first");
  }
  ended = std::move(streams_.extract(stream).mapped());
  return {};
}

Result<EventId> CpuStreams::Record(DeviceId device, StreamId stream) {
  const std::lock_guard lock(mutex_);
  PLIMSOLL_ASSIGN(const CpuStream* found, Find(DeviceCall::kRecordEvent, device, stream));
  const EventId event(next_event_++);
  events_.emplace(event, Event{device, found->progress(), found->position()});
  return event;
}

Result<bool> CpuStreams::Reached(DeviceId device, EventId event) {
  const std::lock_guard lock(mutex_);
  PLIMSOLL_ASSIGN(const Event found, FindEvent(DeviceCall::kEventReached, device, event));
  if (found.device != device) {
    return Refused(DeviceCall::kEventReached, device, "the event is another device's");
  }
  return found.progress->Reached(found.position);
}

Status CpuStreams::Wait(DeviceId device, StreamId stream, EventId event) {
  const std::lock_guard lock(mutex_);
  PLIMSOLL_ASSIGN(CpuStream * found, Find(DeviceCall::kWaitEvent, device, stream));
  PLIMSOLL_ASSIGN(const Event until, FindEvent(DeviceCall::kWaitEvent, device, event));
  if (until.progress->Reached(until.position)) return {};
  found->Enqueue([until] { until.progress->WaitFor(until.position); }, {});
  return {};
}

Status CpuStreams::DestroyEvent(DeviceId device, EventId event) {
  const std::lock_guard lock(mutex_);
  PLIMSOLL_ASSIGN(const Event found, FindEvent(DeviceCall::kDestroyEvent, device, event));
  if (found.device != device) {
    return Refused(DeviceCall::kDestroyEvent, device, "the event is another device's");
  }
  events_.erase(event);
  return {};
}

Status CpuStreams::Enqueue(DeviceCall call, DeviceId device, StreamId stream, CpuStream::Work work,
                           std::vector<AddressRange> uses) {
  const std::lock_guard lock(mutex_);
  PLIMSOLL_ASSIGN(CpuStream * found, Find(call, device, stream));
  found->Enqueue(std::move(work), std::move(uses));
  return {};
}

Status CpuStreams::Synchronize(DeviceId device, StreamId stream) {
  constexpr DeviceCall kCall = DeviceCall::kSynchronizeStream;
  PLIMSOLL_TRY(CheckMayWait(kCall, device));
  Event until;
  {
    const std::lock_guard lock(mutex_);
    PLIMSOLL_ASSIGN(const CpuStream* found, Find(kCall, device, stream));
    until = {device, found->progress(), found->position()};
  }
  until.progress->WaitFor(until.position);
  return {};
}

Status CpuStreams::SynchronizeDevice(DeviceId device) {
  PLIMSOLL_TRY(CheckMayWait(DeviceCall::kSynchronizeDevice, device));
  std::vector<Event> all;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [id, stream] : streams_) {
      if (stream->device() == device) {
        all.push_back({device, stream->progress(), stream->position()});
      }
    }
  }
  for (const Event& until : all) until.progress->WaitFor(until.position);
  return {};
}

std::optional<StreamId> CpuStreams::PendingUser(Address at, Bytes size) const {
  const std::lock_guard lock(mutex_);
  std::optional<StreamId> lowest;
  for (const auto& [id, stream] : streams_) {
    if ((!lowest || id < *lowest) && stream->Uses(at, size)) lowest = id;
  }
  return lowest;
}

void CpuStreams::Finish() {
  std::unordered_map<StreamId, std::unique_ptr<CpuStream>> ending;
  {
    const std::lock_guard lock(mutex_);
    ending.swap(streams_);
  }
  for (const auto& [id, stream] : ending) stream->Close();
}

}  // namespace plimsoll::device
