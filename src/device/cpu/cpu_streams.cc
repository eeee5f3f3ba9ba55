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

std::chrono::nanoseconds SystemTime() {
  return std::chrono::steady_clock::now().time_since_epoch();
}

}  // namespace

CpuStreams::CpuStreams(Clock clock) : clock_(clock != nullptr ? std::move(clock) : SystemTime) {}

Result<CpuStream*> CpuStreams::Find(DeviceCall call, DeviceId device, StreamId stream) const {
  const auto found = streams_.find(stream);
  if (found != streams_.end() && found->second->device() == device) return found->second.get();
  return Refused(call, device, "no such stream on this device");
}

Result<CpuStream*> CpuStreams::FindNotRecording(DeviceCall call, DeviceId device,
                                                StreamId stream) const {
  PLIMSOLL_ASSIGN(CpuStream * found, Find(call, device, stream));
  PLIMSOLL_TRY(recordings_.CheckNotRecording(call, device, stream));
  return found;
}

Result<CpuStreams::Event> CpuStreams::FindEvent(DeviceCall call, DeviceId device,
                                                EventId event) const {
  const auto found = events_.find(event);
  if (found != events_.end()) return found->second;
  return Refused(call, device, "no such event");
}

Result<CpuStreams::Event> CpuStreams::FindOwnEvent(DeviceCall call, DeviceId device,
                                                   EventId event) const {
  PLIMSOLL_ASSIGN(const Event found, FindEvent(call, device, event));
  if (found.device == device) return found;
  return Refused(call, device, "the event is another device's");
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
  PLIMSOLL_ASSIGN(const CpuStream* found,
                  FindNotRecording(DeviceCall::kDestroyStream, device, stream));
  if (!found->idle()) {
    return Refused(DeviceCall::kDestroyStream, device, "work is pending on it",
                   "synchronise it first");
  }
  ended = std::move(streams_.extract(stream).mapped());
  return {};
}

Result<EventId> CpuStreams::Record(DeviceId device, StreamId stream) {
  const std::lock_guard lock(mutex_);
  PLIMSOLL_ASSIGN(const CpuStream* found,
                  FindNotRecording(DeviceCall::kRecordEvent, device, stream));
  const EventId event(next_event_++);
  events_.emplace(event, Event{device, found->progress(), found->position()});
  return event;
}

Result<EventId> CpuStreams::RecordTimed(DeviceId device, StreamId stream) {
  constexpr DeviceCall kCall = DeviceCall::kRecordTimedEvent;
  const std::lock_guard lock(mutex_);
  PLIMSOLL_ASSIGN(CpuStream * found, FindNotRecording(kCall, device, stream));
  auto time_ns = std::make_shared<std::atomic<int64_t>>(0);
  found->Enqueue({[this, time_ns] { *time_ns = clock_().count(); }, {}});
  const EventId event(next_event_++);
  events_.emplace(event, Event{device, found->progress(), found->position(), std::move(time_ns)});
  return event;
}

Result<bool> CpuStreams::Reached(DeviceId device, EventId event) {
  const std::lock_guard lock(mutex_);
  PLIMSOLL_ASSIGN(const Event found, FindOwnEvent(DeviceCall::kEventReached, device, event));
  return found.progress->Reached(found.position);
}

Status CpuStreams::Wait(DeviceId device, StreamId stream, EventId event) {
  const std::lock_guard lock(mutex_);
  PLIMSOLL_ASSIGN(CpuStream * found, FindNotRecording(DeviceCall::kWaitEvent, device, stream));
  PLIMSOLL_ASSIGN(const Event until, FindEvent(DeviceCall::kWaitEvent, device, event));
  if (until.progress->Reached(until.position)) return {};
  found->Enqueue({[until] { until.progress->WaitFor(until.position); }, {}});
  return {};
}

Status CpuStreams::SynchronizeEvent(DeviceId device, EventId event) {
  constexpr DeviceCall kCall = DeviceCall::kSynchronizeEvent;
  PLIMSOLL_TRY(CheckMayWait(kCall, device));
  Event until;
  {
    const std::lock_guard lock(mutex_);
    PLIMSOLL_ASSIGN(until, FindOwnEvent(kCall, device, event));
  }
  until.progress->WaitFor(until.position);
  return {};
}

Result<std::chrono::nanoseconds> CpuStreams::Elapsed(DeviceId device, EventId from, EventId to) {
  constexpr DeviceCall kCall = DeviceCall::kElapsedTime;
  const std::lock_guard lock(mutex_);
  PLIMSOLL_ASSIGN(const Event first, FindOwnEvent(kCall, device, from));
  PLIMSOLL_ASSIGN(const Event last, FindOwnEvent(kCall, device, to));
  if (first.time_ns == nullptr || last.time_ns == nullptr) {
    return Refused(kCall, device, "one of the events keeps no time", "record timed events");
  }
  if (!first.progress->Reached(first.position) || !last.progress->Reached(last.position)) {
    return Refused(kCall, device, "one of the events is not reached yet", "wait for it first");
  }
  return std::chrono::nanoseconds(*last.time_ns - *first.time_ns);
}

Status CpuStreams::DestroyEvent(DeviceId device, EventId event) {
  const std::lock_guard lock(mutex_);
  PLIMSOLL_TRY(FindOwnEvent(DeviceCall::kDestroyEvent, device, event).status());
  events_.erase(event);
  return {};
}

Status CpuStreams::Enqueue(DeviceCall call, DeviceId device, StreamId stream,
                           std::vector<CpuStream::Item> items) {
  const std::lock_guard lock(mutex_);
  PLIMSOLL_ASSIGN(CpuStream * found, Find(call, device, stream));
  std::vector<CpuStream::Item>* recording = recordings_.Open(stream);
  for (CpuStream::Item& item : items) {
    if (recording != nullptr) {
      recording->push_back(std::move(item));
    } else {
      found->Enqueue(std::move(item));
    }
  }
  return {};
}

Status CpuStreams::BeginRecording(DeviceId device, StreamId stream) {
  const std::lock_guard lock(mutex_);
  PLIMSOLL_TRY(Find(DeviceCall::kBeginRecording, device, stream).status());
  return recordings_.Begin(device, stream);
}

Result<RecordingId> CpuStreams::EndRecording(DeviceId device, StreamId stream) {
  const std::lock_guard lock(mutex_);
  PLIMSOLL_TRY(Find(DeviceCall::kEndRecording, device, stream).status());
  return recordings_.End(device, stream);
}

Result<std::vector<CpuStream::Item>> CpuStreams::Recorded(DeviceId device,
                                                          RecordingId recording) const {
  const std::lock_guard lock(mutex_);
  return recordings_.Items(DeviceCall::kReplayRecording, device, recording);
}

Status CpuStreams::DestroyRecording(DeviceId device, RecordingId recording) {
  const std::lock_guard lock(mutex_);
  return recordings_.Destroy(device, recording);
}

Status CpuStreams::Synchronize(DeviceId device, StreamId stream) {
  constexpr DeviceCall kCall = DeviceCall::kSynchronizeStream;
  PLIMSOLL_TRY(CheckMayWait(kCall, device));
  Event until;
  {
    const std::lock_guard lock(mutex_);
    PLIMSOLL_ASSIGN(const CpuStream* found, FindNotRecording(kCall, device, stream));
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
