// The events of the cuda devices.
#include <cmath>
#include <utility>

#include "device/cuda/cuda_streams.h"

namespace plimsoll::device {

std::vector<cuda::Event>& CudaStreams::Pool(DeviceId device, bool timed) {
  return pool_[static_cast<size_t>(device.ordinal) * 2 + (timed ? 1 : 0)];
}

Result<cuda::Event> CudaStreams::TakeEvent(CudaCall& call, bool timed) {
  std::vector<cuda::Event>& pool = Pool(call.device(), timed);
  cuda::Event event = nullptr;
  if (!pool.empty()) {
    event = pool.back();
    pool.pop_back();
    return event;
  }
  PLIMSOLL_TRY(call.Do(call.driver().event_create, &event, timed ? 0u : cuda::kEventDisableTiming));
  return event;
}

void CudaStreams::GiveEventBack(DeviceId device, bool timed, cuda::Event event) {
  Pool(device, timed).push_back(event);
}

Result<CudaStreams::Event*> CudaStreams::FindEvent(const CudaCall& call, EventId event) {
  const auto found = events_.find(event);
  if (found != events_.end()) return &found->second;
  return call.Refused("no such event");
}

Result<CudaStreams::Event*> CudaStreams::FindOwnEvent(const CudaCall& call, EventId event) {
  PLIMSOLL_ASSIGN(Event * found, FindEvent(call, event));
  if (found->device == call.device()) return found;
  return call.Refused("the event is another device's");
}

Result<EventId> CudaStreams::Record(DeviceCall kind, DeviceId device, StreamId stream, bool timed) {
  CudaCall call(cards_, kind, device);
  PLIMSOLL_TRY(call.status());
  const std::lock_guard lock(mutex_);
  PLIMSOLL_ASSIGN(const Stream found, FindNotRecording(call, stream));
  if (IsCaptured(*found)) {
    return call.Refused("its owner captures the stream into a graph",
                        "record the event when the capture has ended");
  }
  PLIMSOLL_ASSIGN(const cuda::Event handle, TakeEvent(call, timed));
  if (const Status status = call.Do(call.driver().event_record, handle, found->handle);
      !status.ok()) {
    GiveEventBack(device, timed, handle);
    return status;
  }
  const EventId event(next_event_++);
  events_.emplace(event, Event{.device = device,
                               .handle = handle,
                               .timed = timed,
                               .reached = false,
                               .stream = found,
                               .position = found->position});
  return event;
}

// Whether the event is reached; once it is, the driver is not asked again.
Result<bool> CudaStreams::Ask(CudaCall& call, Event& event) {
  if (event.reached) return true;
  const cuda::Result result = call.driver().event_query(event.handle);
  if (result == cuda::kNotReady) return false;
  PLIMSOLL_TRY(call.Check(call.driver().event_query, result));
  event.reached = true;
  return true;
}

Result<bool> CudaStreams::Reached(DeviceId device, EventId event) {
  CudaCall call(cards_, DeviceCall::kEventReached, device);
  PLIMSOLL_TRY(call.status());
  const Lock lock(*this);
  PLIMSOLL_ASSIGN(Event * found, FindOwnEvent(call, event));
  PLIMSOLL_ASSIGN(const bool reached, Ask(call, *found));
  if (reached) Complete(*found->stream, found->position);
  return reached;
}

Status CudaStreams::Wait(DeviceId device, StreamId stream, EventId event) {
  CudaCall call(cards_, DeviceCall::kWaitEvent, device);
  PLIMSOLL_TRY(call.status());
  const Lock lock(*this);
  PLIMSOLL_ASSIGN(const Stream found, FindNotRecording(call, stream));
  PLIMSOLL_ASSIGN(const Event* until, FindEvent(call, event));
  if (until->reached) return {};
  PLIMSOLL_TRY(call.Do(call.driver().stream_wait_event, found->handle, until->handle, 0u));
  if (until->stream != found && !until->stream->pending.empty()) {
    TrimPending(*found);
    found->pending.push_back({.position = ++found->position,
                              .work = {.behind = until->stream, .position = until->position},
                              .issued = true});
  }
  return {};
}

Status CudaStreams::SynchronizeEvent(DeviceId device, EventId event) {
  CudaCall call(cards_, DeviceCall::kSynchronizeEvent, device);
  PLIMSOLL_TRY(call.status());
  Event until;
  {
    const std::lock_guard lock(mutex_);
    PLIMSOLL_ASSIGN(const Event* found, FindOwnEvent(call, event));
    until = *found;
  }
  if (!until.reached) {
    PLIMSOLL_TRY(call.Do(call.driver().event_synchronize, until.handle));
  }
  const Lock lock(*this);
  const auto found = events_.find(event);
  if (found != events_.end()) found->second.reached = true;
  Complete(*until.stream, until.position);
  return {};
}

Result<std::chrono::nanoseconds> CudaStreams::Elapsed(DeviceId device, EventId from, EventId to) {
  CudaCall call(cards_, DeviceCall::kElapsedTime, device);
  PLIMSOLL_TRY(call.status());
  const std::lock_guard lock(mutex_);
  PLIMSOLL_ASSIGN(Event * first, FindOwnEvent(call, from));
  PLIMSOLL_ASSIGN(Event * last, FindOwnEvent(call, to));
  if (!first->timed || !last->timed) {
    return call.Refused("one of the events keeps no time", "record timed events");
  }
  for (Event* event : {first, last}) {
    PLIMSOLL_ASSIGN(const bool reached, Ask(call, *event));
    if (!reached) return call.Refused("one of the events is not reached yet", "wait for it first");
  }
  float milliseconds = 0;
  PLIMSOLL_TRY(call.Do(call.driver().event_elapsed, &milliseconds, first->handle, last->handle));
  return std::chrono::nanoseconds(std::llround(static_cast<double>(milliseconds) * 1e6));
}

Status CudaStreams::DestroyEvent(DeviceId device, EventId event) {
  CudaCall call(cards_, DeviceCall::kDestroyEvent, device);
  PLIMSOLL_TRY(call.status());
  const std::lock_guard lock(mutex_);
  PLIMSOLL_ASSIGN(const Event* found, FindOwnEvent(call, event));
  GiveEventBack(device, found->timed, found->handle);
  events_.erase(event);
  return {};
}

}  // namespace plimsoll::device
