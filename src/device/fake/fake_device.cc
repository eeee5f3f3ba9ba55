#include "plimsoll/device/fake_device.h"

#include <numeric>
#include <utility>

#include "device/fake/fake_memory.h"
#include "device/fake/fake_state.h"
#include "plimsoll/base/text.h"

namespace plimsoll::device {
namespace {

Error NoSuchEvent(DeviceCall call, DeviceId device, std::string remedy = "") {
  return CallError(call, device, ErrorKind::kRunFailed, "no such event on this device",
                   std::move(remedy));
}

}  // namespace

int64_t FakeStatistics::total() const {
  return std::accumulate(calls.begin(), calls.end(), int64_t{0});
}

FakeDevice::FakeDevice(FakeOptions options)
    : state_(std::make_unique<FakeState>(std::move(options))),
      memory_(std::make_unique<FakeMemory>(*state_)) {}

FakeDevice::~FakeDevice() {
  if (state_->options.log == nullptr) return;
  FakeCall destroyed;
  destroyed.device = state_->current;
  state_->options.log->calls.push_back(destroyed);
  state_->options.log->at_destruction = state_->Outstanding();
}

int FakeDevice::Count() const { return state_->options.devices; }
DeviceMemory& FakeDevice::memory() { return *memory_; }

std::string FakeDevice::Kind() const { return state_->options.kind; }

DeviceProperties FakeDevice::Properties(DeviceId) const {
  return {.name = "fake",
          .host_reachable = state_->options.host_reachable,
          .alignment = FakeMemory::kPlainAlignment,
          .holds_bytes = false,
          .reserves_addresses = state_->options.reserves_addresses,
          .timed_events = state_->options.timed_events,
          .records = state_->options.records};
}

DeviceId FakeDevice::Current() const {
  const std::lock_guard lock(state_->mutex);
  return state_->bindings.BoundOr(state_->current);
}

Status FakeDevice::SetCurrent(DeviceId device) {
  FakeCallScope call(*state_, DeviceCall::kSetCurrent, device);
  PLIMSOLL_TRY(call.Begin());
  state_->current = device;
  call.Succeed();
  return {};
}

Status FakeDevice::BindThread(DeviceId device) {
  FakeCallScope call(*state_, DeviceCall::kBindThread, device);
  PLIMSOLL_TRY(call.Begin());
  state_->bindings.Bind(device);
  call.Succeed();
  return {};
}

Status FakeDevice::UnbindThread(DeviceId device) {
  FakeCallScope call(*state_, DeviceCall::kUnbindThread, device);
  const Status begun = call.Begin();
  if (!begun.ok() && begun.error().code != kDeviceLost) return begun;
  // A thread gets rid of a lost device too.
  const Status unbound = state_->bindings.Unbind(device);
  PLIMSOLL_TRY(begun);
  PLIMSOLL_TRY(unbound);
  call.Succeed();
  return {};
}

Result<StreamId> FakeDevice::CreateStream(DeviceId device) {
  FakeCallScope call(*state_, DeviceCall::kCreateStream, device);
  PLIMSOLL_TRY(call.Begin());
  call.entry.stream = state_->work.CreateStream(device);
  call.Succeed();
  return call.entry.stream;
}

Status FakeDevice::DestroyStream(DeviceId device, StreamId stream) {
  FakeCallScope call(*state_, DeviceCall::kDestroyStream, device, 0, {}, stream);
  PLIMSOLL_TRY(call.BeginNotRecording());
  if (const int64_t pending = state_->work.PendingOn(stream); pending > 0) {
    return CallError(DeviceCall::kDestroyStream, device, ErrorKind::kRunFailed,
                     StrCat(pending, " items of work are pending on it"), "synchronise it first");
  }
  state_->work.DestroyStream(stream);
  call.Succeed();
  return {};
}

Result<EventId> FakeDevice::RecordEvent(DeviceId device, StreamId stream) {
  FakeCallScope call(*state_, DeviceCall::kRecordEvent, device, 0, {}, stream);
  PLIMSOLL_TRY(call.BeginNotRecording());
  call.Succeed();
  return state_->work.RecordEvent(device, stream);
}

Result<EventId> FakeDevice::RecordTimedEvent(DeviceId device, StreamId stream) {
  FakeCallScope call(*state_, DeviceCall::kRecordTimedEvent, device, 0, {}, stream);
  PLIMSOLL_TRY(call.BeginNotRecording());
  if (!state_->options.timed_events) return Device::RecordTimedEvent(device, stream);
  const EventId event = state_->work.RecordEvent(device, stream, state_->driver_ns);
  call.Succeed();
  return event;
}

Result<bool> FakeDevice::EventReached(DeviceId device, EventId event) {
  FakeCallScope call(*state_, DeviceCall::kEventReached, device);
  PLIMSOLL_TRY(call.Begin());
  const FakeWork::Event* found = state_->work.FindEvent(event);
  if (found == nullptr || found->device != device) {
    return NoSuchEvent(DeviceCall::kEventReached, device);
  }
  call.entry.stream = found->stream;
  if (state_->options.queries_complete) call.RunAfterwards(state_->work.CompleteEvent(*found));
  call.Succeed();
  return state_->work.Reached(*found);
}

Status FakeDevice::WaitEvent(DeviceId device, StreamId stream, EventId event) {
  FakeCallScope call(*state_, DeviceCall::kWaitEvent, device, 0, {}, stream);
  PLIMSOLL_TRY(call.BeginNotRecording());
  const FakeWork::Event* found = state_->work.FindEvent(event);
  if (found == nullptr) {
    return CallError(DeviceCall::kWaitEvent, device, ErrorKind::kRunFailed, "no such event");
  }
  state_->work.EnqueueWait(stream, *found);
  call.Succeed();
  return {};
}

Status FakeDevice::SynchronizeEvent(DeviceId device, EventId event) {
  FakeCallScope call(*state_, DeviceCall::kSynchronizeEvent, device);
  PLIMSOLL_TRY(call.Begin());
  const FakeWork::Event* found = state_->work.FindEvent(event);
  if (found == nullptr || found->device != device) {
    return NoSuchEvent(DeviceCall::kSynchronizeEvent, device);
  }
  call.entry.stream = found->stream;
  call.RunAfterwards(state_->work.CompleteEvent(*found));
  call.Succeed();
  return {};
}

Result<std::chrono::nanoseconds> FakeDevice::ElapsedTime(DeviceId device, EventId from,
                                                         EventId to) {
  constexpr DeviceCall kCall = DeviceCall::kElapsedTime;
  FakeCallScope call(*state_, kCall, device);
  PLIMSOLL_TRY(call.Begin());
  if (!state_->options.timed_events) return Device::ElapsedTime(device, from, to);
  for (const EventId event : {from, to}) {
    const FakeWork::Event* found = state_->work.FindEvent(event);
    if (found == nullptr || found->device != device) return NoSuchEvent(kCall, device);
    if (!found->time_ns) {
      return CallError(kCall, device, ErrorKind::kRunFailed, "one of the events keeps no time",
                       "record timed events");
    }
    if (!state_->work.Reached(*found)) {
      return CallError(kCall, device, ErrorKind::kRunFailed, "one of the events is not reached yet",
                       "wait for it first");
    }
  }
  call.Succeed();
  return std::chrono::nanoseconds(*state_->work.FindEvent(to)->time_ns -
                                  *state_->work.FindEvent(from)->time_ns);
}

Status FakeDevice::DestroyEvent(DeviceId device, EventId event) {
  FakeCallScope call(*state_, DeviceCall::kDestroyEvent, device);
  PLIMSOLL_TRY(call.Begin());
  const FakeWork::Event* found = state_->work.FindEvent(event);
  if (found == nullptr || found->device != device) {
    return NoSuchEvent(DeviceCall::kDestroyEvent, device, "destroy an event once");
  }
  call.entry.stream = found->stream;
  state_->work.DestroyEvent(event);
  call.Succeed();
  return {};
}

Status FakeDevice::SynchronizeStream(DeviceId device, StreamId stream) {
  FakeCallScope call(*state_, DeviceCall::kSynchronizeStream, device, 0, {}, stream);
  PLIMSOLL_TRY(call.BeginNotRecording());
  call.RunAfterwards(state_->work.Complete(stream, state_->work.PendingOn(stream)));
  call.Succeed();
  return {};
}

Status FakeDevice::SynchronizeDevice(DeviceId device) {
  FakeCallScope call(*state_, DeviceCall::kSynchronizeDevice, device);
  PLIMSOLL_TRY(call.Begin());
  call.RunAfterwards(state_->work.CompleteDevice(device));
  call.Succeed();
  return {};
}

void FakeDevice::Lose(DeviceId device, const Error& first_error) {
  const std::lock_guard lock(state_->mutex);
  state_->of(device).first_error = first_error;
}

void FakeDevice::Fail(const FakeFailure& failure) {
  const std::lock_guard lock(state_->mutex);
  state_->failures.push_back(failure);
}

void FakeDevice::ClearFailures() {
  const std::lock_guard lock(state_->mutex);
  state_->failures.clear();
}

void FakeDevice::CompleteWork(StreamId stream, int64_t items) {
  std::vector<Work> works;
  {
    const std::lock_guard lock(state_->mutex);
    works = state_->work.Complete(stream, items);
  }
  for (const Work& work : works) work();
}

int64_t FakeDevice::PendingWork(StreamId stream) const {
  const std::lock_guard lock(state_->mutex);
  return state_->work.PendingOn(stream);
}

FakeOutstanding FakeDevice::outstanding() const {
  const std::lock_guard lock(state_->mutex);
  return state_->Outstanding();
}

FakeStatistics FakeDevice::statistics() const {
  const std::lock_guard lock(state_->mutex);
  FakeStatistics statistics = state_->statistics;
  statistics.modelled_driver_us =
      static_cast<double>(state_->driver_ns - state_->driver_ns_at_reset) / 1000;
  return statistics;
}

void FakeDevice::ResetStatistics() {
  const std::lock_guard lock(state_->mutex);
  const Bytes physical = state_->statistics.physical;
  state_->statistics = {};
  state_->statistics.physical = physical;
  state_->statistics.peak_physical = physical;
  state_->driver_ns_at_reset = state_->driver_ns;
}

}  // namespace plimsoll::device
