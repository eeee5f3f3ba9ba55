// What a fake device puts on its streams: copies, fills, work, callbacks, and recordings of them.
#include <utility>

#include "device/fake/fake_state.h"
#include "plimsoll/device/fake_device.h"

namespace plimsoll::device {
namespace {

// Checks what the items touch, and enqueues them.
Status EnqueueAll(FakeState& state, FakeCallScope& call, std::vector<FakeWork::Item> items) {
  for (FakeWork::Item& item : items) {
    for (Touch& touch : item.uses) {
      PLIMSOLL_TRY(state.table.CheckTouch(*call.entry.call, call.entry.device, touch));
    }
  }
  for (FakeWork::Item& item : items) state.work.Enqueue(call.entry.stream, std::move(item));
  call.Succeed();
  return {};
}

Error NoWork(DeviceCall call, DeviceId device) {
  return CallError(call, device, ErrorKind::kRunFailed, "there is no work to do");
}

}  // namespace

Status FakeDevice::Copy(DeviceId device, StreamId stream, Address to, Address from, Bytes size) {
  FakeCallScope call(*state_, DeviceCall::kCopy, device, to, size, stream);
  PLIMSOLL_TRY(call.BeginOnStream());
  return EnqueueAll(*state_, call, {{.uses = {{{to, size}}, {{from, size}}}}});
}

Status FakeDevice::Fill(DeviceId device, StreamId stream, Address at, uint8_t, Bytes size) {
  FakeCallScope call(*state_, DeviceCall::kFill, device, at, size, stream);
  PLIMSOLL_TRY(call.BeginOnStream());
  return EnqueueAll(*state_, call, {{.uses = {{{at, size}, Reach::kOwnDevice}}}});
}

Status FakeDevice::Enqueue(DeviceId device, StreamId stream, StreamWork work) {
  FakeCallScope call(*state_, DeviceCall::kEnqueue, device, 0, {}, stream);
  PLIMSOLL_TRY(call.BeginOnStream());
  if (work == nullptr) return NoWork(DeviceCall::kEnqueue, device);
  const auto run = [this, device, stream, work = std::move(work)] {
    work(StreamContext{*this, device, stream});
  };
  return EnqueueAll(*state_, call, {{.uses_all_memory = true, .work = run}});
}

Status FakeDevice::EnqueueUsing(DeviceId device, StreamId stream, std::vector<AddressRange> uses,
                                std::function<void()> work) {
  FakeCallScope call(*state_, DeviceCall::kEnqueue, device, 0, {}, stream);
  PLIMSOLL_TRY(call.BeginOnStream());
  FakeWork::Item item;
  for (const AddressRange& range : uses) item.uses.push_back({range});
  item.work = std::move(work);
  return EnqueueAll(*state_, call, {std::move(item)});
}

Status FakeDevice::LaunchHost(DeviceId device, StreamId stream, std::function<void()> work) {
  FakeCallScope call(*state_, DeviceCall::kLaunchHost, device, 0, {}, stream);
  PLIMSOLL_TRY(call.BeginOnStream());
  if (work == nullptr) return NoWork(DeviceCall::kLaunchHost, device);
  return EnqueueAll(*state_, call, {{.uses_all_memory = true, .work = std::move(work)}});
}

Status FakeDevice::BeginRecording(DeviceId device, StreamId stream) {
  FakeCallScope call(*state_, DeviceCall::kBeginRecording, device, 0, {}, stream);
  PLIMSOLL_TRY(call.BeginOnStream());
  if (!state_->options.records) return Device::BeginRecording(device, stream);
  PLIMSOLL_TRY(state_->work.recordings().Begin(device, stream));
  call.Succeed();
  return {};
}

Result<RecordingId> FakeDevice::EndRecording(DeviceId device, StreamId stream) {
  FakeCallScope call(*state_, DeviceCall::kEndRecording, device, 0, {}, stream);
  PLIMSOLL_TRY(call.BeginOnStream());
  if (!state_->options.records) return Device::EndRecording(device, stream);
  PLIMSOLL_ASSIGN(const RecordingId recording, state_->work.recordings().End(device, stream));
  call.Succeed();
  return recording;
}

Status FakeDevice::ReplayRecording(DeviceId device, StreamId stream, RecordingId recording) {
  FakeCallScope call(*state_, DeviceCall::kReplayRecording, device, 0, {}, stream);
  PLIMSOLL_TRY(call.BeginOnStream());
  if (!state_->options.records) return Device::ReplayRecording(device, stream, recording);
  PLIMSOLL_ASSIGN(std::vector<FakeWork::Item> items,
                  state_->work.recordings().Items(DeviceCall::kReplayRecording, device, recording));
  return EnqueueAll(*state_, call, std::move(items));
}

Status FakeDevice::DestroyRecording(DeviceId device, RecordingId recording) {
  FakeCallScope call(*state_, DeviceCall::kDestroyRecording, device);
  PLIMSOLL_TRY(call.Begin());
  if (!state_->options.records) return Device::DestroyRecording(device, recording);
  PLIMSOLL_TRY(state_->work.recordings().Destroy(device, recording));
  call.Succeed();
  return {};
}

}  // namespace plimsoll::device
