#include "plimsoll/device/fake_device.h"

#include <numeric>
#include <utility>

#include "device/fake/fake_memory.h"
#include "device/fake/fake_state.h"
#include "plimsoll/base/text.h"

namespace plimsoll::device {

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

DeviceId FakeDevice::Current() const {
  const std::lock_guard lock(state_->mutex);
  return state_->current;
}

Status FakeDevice::SetCurrent(DeviceId device) {
  FakeCallScope call(*state_, DeviceCall::kSetCurrent, device);
  PLIMSOLL_TRY(call.Begin());
  state_->current = device;
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
  PLIMSOLL_TRY(call.BeginOnStream());
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
  PLIMSOLL_TRY(call.BeginOnStream());
  call.Succeed();
  return state_->work.RecordEvent(device, stream);
}

Result<bool> FakeDevice::EventReached(DeviceId device, EventId event) {
  FakeCallScope call(*state_, DeviceCall::kEventReached, device);
  PLIMSOLL_TRY(call.Begin());
  const FakeWork::Event* found = state_->work.FindEvent(event);
  if (found == nullptr || found->device != device) {
    return CallError(DeviceCall::kEventReached, device, ErrorKind::kRunFailed,
                     "no such event on this device");
  }
  call.entry.stream = found->stream;
  if (state_->options.queries_complete) call.RunAfterwards(state_->work.CompleteEvent(*found));
  call.Succeed();
  return state_->work.Reached(*found);
}

Status FakeDevice::WaitEvent(DeviceId device, StreamId stream, EventId event) {
  FakeCallScope call(*state_, DeviceCall::kWaitEvent, device, 0, {}, stream);
  PLIMSOLL_TRY(call.BeginOnStream());
  const FakeWork::Event* found = state_->work.FindEvent(event);
  if (found == nullptr) {
    return CallError(DeviceCall::kWaitEvent, device, ErrorKind::kRunFailed, "no such event");
  }
  state_->work.EnqueueWait(stream, *found);
  call.Succeed();
  return {};
}

Status FakeDevice::DestroyEvent(DeviceId device, EventId event) {
  FakeCallScope call(*state_, DeviceCall::kDestroyEvent, device);
  PLIMSOLL_TRY(call.Begin());
  const FakeWork::Event* found = state_->work.FindEvent(event);
  if (found == nullptr || found->device != device) {
    return CallError(DeviceCall::kDestroyEvent, device, ErrorKind::kRunFailed,
                     "no such event on this device", "destroy an event once");
  }
  call.entry.stream = found->stream;
  state_->work.DestroyEvent(event);
  call.Succeed();
  return {};
}

Status FakeDevice::Copy(DeviceId device, StreamId stream, Address to, Address from, Bytes size) {
  FakeCallScope call(*state_, DeviceCall::kCopy, device, to, size, stream);
  PLIMSOLL_TRY(call.BeginOnStream());
  const MemoryTable& table = state_->table;
  PLIMSOLL_TRY(table.CheckTouch(DeviceCall::kCopy, device, to, size, Reach::kAnywhere));
  PLIMSOLL_TRY(table.CheckTouch(DeviceCall::kCopy, device, from, size, Reach::kAnywhere));
  FakeWork::Item item;
  item.uses = {{to, size}, {from, size}};
  state_->work.Enqueue(stream, std::move(item));
  call.Succeed();
  return {};
}

Status FakeDevice::Fill(DeviceId device, StreamId stream, Address at, uint8_t, Bytes size) {
  FakeCallScope call(*state_, DeviceCall::kFill, device, at, size, stream);
  PLIMSOLL_TRY(call.BeginOnStream());
  PLIMSOLL_TRY(state_->table.CheckTouch(DeviceCall::kFill, device, at, size, Reach::kOwnDevice));
  FakeWork::Item item;
  item.uses = {{at, size}};
  state_->work.Enqueue(stream, std::move(item));
  call.Succeed();
  return {};
}

Status FakeDevice::Launch(DeviceId device, StreamId stream, std::function<void()> work) {
  FakeCallScope call(*state_, DeviceCall::kLaunch, device, 0, {}, stream);
  PLIMSOLL_TRY(call.BeginOnStream());
  if (work == nullptr) {
    return CallError(DeviceCall::kLaunch, device, ErrorKind::kRunFailed, "there is no work to do");
  }
  FakeWork::Item item;
  item.uses_all_memory = true;
  item.work = std::move(work);
  state_->work.Enqueue(stream, std::move(item));
  call.Succeed();
  return {};
}

Status FakeDevice::LaunchUsing(DeviceId device, StreamId stream, std::vector<AddressRange> uses,
                               std::function<void()> work) {
  FakeCallScope call(*state_, DeviceCall::kLaunch, device, 0, {}, stream);
  PLIMSOLL_TRY(call.BeginOnStream());
  for (const AddressRange& range : uses) {
    PLIMSOLL_TRY(state_->table.CheckTouch(DeviceCall::kLaunch, device, range.base, range.size,
                                          Reach::kAnywhere));
  }
  FakeWork::Item item;
  item.uses = std::move(uses);
  item.work = std::move(work);
  state_->work.Enqueue(stream, std::move(item));
  call.Succeed();
  return {};
}

Status FakeDevice::SynchronizeStream(DeviceId device, StreamId stream) {
  FakeCallScope call(*state_, DeviceCall::kSynchronizeStream, device, 0, {}, stream);
  PLIMSOLL_TRY(call.BeginOnStream());
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
  statistics.modelled_driver_us = static_cast<double>(state_->driver_ns) / 1000;
  return statistics;
}

void FakeDevice::ResetStatistics() {
  const std::lock_guard lock(state_->mutex);
  const Bytes physical = state_->statistics.physical;
  state_->statistics = {};
  state_->statistics.physical = physical;
  state_->statistics.peak_physical = physical;
  state_->driver_ns = 0;
}

}  // namespace plimsoll::device
