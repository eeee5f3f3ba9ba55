#include "plimsoll/device/watched_device.h"

namespace plimsoll::device {

Status WatchedDevice::Before(DeviceCall call, DeviceId device) const {
  ++calls_[static_cast<size_t>(call)];
  if (total_++ != fails_at_) return {};
  return CallError(call, device, failure_, "it was told to fail");
}

Status WatchedDevice::SetCurrent(DeviceId device) {
  PLIMSOLL_TRY(Before(DeviceCall::kSetCurrent, device));
  return under_->SetCurrent(device);
}

Status WatchedDevice::BindThread(DeviceId device) {
  PLIMSOLL_TRY(Before(DeviceCall::kBindThread, device));
  return under_->BindThread(device);
}

Status WatchedDevice::UnbindThread(DeviceId device) {
  PLIMSOLL_TRY(Before(DeviceCall::kUnbindThread, device));
  return under_->UnbindThread(device);
}

Result<StreamId> WatchedDevice::CreateStream(DeviceId device) {
  PLIMSOLL_TRY(Before(DeviceCall::kCreateStream, device));
  return under_->CreateStream(device);
}

Status WatchedDevice::DestroyStream(DeviceId device, StreamId stream) {
  PLIMSOLL_TRY(Before(DeviceCall::kDestroyStream, device));
  return under_->DestroyStream(device, stream);
}

Result<EventId> WatchedDevice::RecordEvent(DeviceId device, StreamId stream) {
  PLIMSOLL_TRY(Before(DeviceCall::kRecordEvent, device));
  return under_->RecordEvent(device, stream);
}

Result<EventId> WatchedDevice::RecordTimedEvent(DeviceId device, StreamId stream) {
  PLIMSOLL_TRY(Before(DeviceCall::kRecordTimedEvent, device));
  return under_->RecordTimedEvent(device, stream);
}

Result<bool> WatchedDevice::EventReached(DeviceId device, EventId event) {
  PLIMSOLL_TRY(Before(DeviceCall::kEventReached, device));
  return under_->EventReached(device, event);
}

Status WatchedDevice::WaitEvent(DeviceId device, StreamId stream, EventId event) {
  PLIMSOLL_TRY(Before(DeviceCall::kWaitEvent, device));
  return under_->WaitEvent(device, stream, event);
}

Status WatchedDevice::SynchronizeEvent(DeviceId device, EventId event) {
  PLIMSOLL_TRY(Before(DeviceCall::kSynchronizeEvent, device));
  return under_->SynchronizeEvent(device, event);
}

Result<std::chrono::nanoseconds> WatchedDevice::ElapsedTime(DeviceId device, EventId from,
                                                            EventId to) {
  PLIMSOLL_TRY(Before(DeviceCall::kElapsedTime, device));
  return under_->ElapsedTime(device, from, to);
}

Status WatchedDevice::DestroyEvent(DeviceId device, EventId event) {
  PLIMSOLL_TRY(Before(DeviceCall::kDestroyEvent, device));
  return under_->DestroyEvent(device, event);
}

Status WatchedDevice::Copy(DeviceId device, StreamId stream, Address to, Address from, Bytes size) {
  PLIMSOLL_TRY(Before(DeviceCall::kCopy, device));
  return under_->Copy(device, stream, to, from, size);
}

Status WatchedDevice::Fill(DeviceId device, StreamId stream, Address at, uint8_t value,
                           Bytes size) {
  PLIMSOLL_TRY(Before(DeviceCall::kFill, device));
  return under_->Fill(device, stream, at, value, size);
}

Status WatchedDevice::Enqueue(DeviceId device, StreamId stream, StreamWork work) {
  PLIMSOLL_TRY(Before(DeviceCall::kEnqueue, device));
  return under_->Enqueue(device, stream, std::move(work));
}

Status WatchedDevice::LaunchHost(DeviceId device, StreamId stream, std::function<void()> work) {
  PLIMSOLL_TRY(Before(DeviceCall::kLaunchHost, device));
  return under_->LaunchHost(device, stream, std::move(work));
}

Status WatchedDevice::BeginRecording(DeviceId device, StreamId stream) {
  PLIMSOLL_TRY(Before(DeviceCall::kBeginRecording, device));
  return under_->BeginRecording(device, stream);
}

Result<RecordingId> WatchedDevice::EndRecording(DeviceId device, StreamId stream) {
  PLIMSOLL_TRY(Before(DeviceCall::kEndRecording, device));
  return under_->EndRecording(device, stream);
}

Status WatchedDevice::ReplayRecording(DeviceId device, StreamId stream, RecordingId recording) {
  PLIMSOLL_TRY(Before(DeviceCall::kReplayRecording, device));
  return under_->ReplayRecording(device, stream, recording);
}

Status WatchedDevice::DestroyRecording(DeviceId device, RecordingId recording) {
  PLIMSOLL_TRY(Before(DeviceCall::kDestroyRecording, device));
  return under_->DestroyRecording(device, recording);
}

Status WatchedDevice::SynchronizeStream(DeviceId device, StreamId stream) {
  PLIMSOLL_TRY(Before(DeviceCall::kSynchronizeStream, device));
  return under_->SynchronizeStream(device, stream);
}

Status WatchedDevice::SynchronizeDevice(DeviceId device) {
  PLIMSOLL_TRY(Before(DeviceCall::kSynchronizeDevice, device));
  return under_->SynchronizeDevice(device);
}

Bytes WatchedDevice::Granularity(DeviceId device) const {
  return under_->memory().Granularity(device);
}

Result<AddressRange> WatchedDevice::ReserveAddress(DeviceId device, Bytes size, Bytes alignment) {
  PLIMSOLL_TRY(Before(DeviceCall::kReserveAddress, device));
  return under_->memory().ReserveAddress(device, size, alignment);
}

Status WatchedDevice::ReleaseAddress(DeviceId device, AddressRange range) {
  PLIMSOLL_TRY(Before(DeviceCall::kReleaseAddress, device));
  return under_->memory().ReleaseAddress(device, range);
}

Result<ChunkId> WatchedDevice::CreateChunk(DeviceId device, Bytes size,
                                           const ChunkOptions& options) {
  PLIMSOLL_TRY(Before(DeviceCall::kCreateChunk, device));
  PLIMSOLL_ASSIGN(const ChunkId chunk, under_->memory().CreateChunk(device, size, options));
  taken_[static_cast<size_t>(options.type)] += size;
  return chunk;
}

Status WatchedDevice::DestroyChunk(DeviceId device, ChunkId chunk) {
  PLIMSOLL_TRY(Before(DeviceCall::kDestroyChunk, device));
  return under_->memory().DestroyChunk(device, chunk);
}

Status WatchedDevice::Map(DeviceId device, Address at, ChunkId chunk) {
  PLIMSOLL_TRY(Before(DeviceCall::kMap, device));
  return under_->memory().Map(device, at, chunk);
}

Status WatchedDevice::Unmap(DeviceId device, Address at, Bytes size) {
  PLIMSOLL_TRY(Before(DeviceCall::kUnmap, device));
  return under_->memory().Unmap(device, at, size);
}

Status WatchedDevice::SetAccess(DeviceId device, Address at, Bytes size) {
  PLIMSOLL_TRY(Before(DeviceCall::kSetAccess, device));
  return under_->memory().SetAccess(device, at, size);
}

Result<Address> WatchedDevice::AllocatePlain(DeviceId device, Bytes size, MemoryType type) {
  PLIMSOLL_TRY(Before(DeviceCall::kAllocatePlain, device));
  PLIMSOLL_ASSIGN(const Address at, under_->memory().AllocatePlain(device, size, type));
  taken_[static_cast<size_t>(type)] += size;
  return at;
}

Status WatchedDevice::FreePlain(DeviceId device, Address at) {
  PLIMSOLL_TRY(Before(DeviceCall::kFreePlain, device));
  return under_->memory().FreePlain(device, at);
}

Status WatchedDevice::RegisterHost(DeviceId device, Address at, Bytes size) {
  PLIMSOLL_TRY(Before(DeviceCall::kRegisterHost, device));
  return under_->memory().RegisterHost(device, at, size);
}

Status WatchedDevice::UnregisterHost(DeviceId device, Address at) {
  PLIMSOLL_TRY(Before(DeviceCall::kUnregisterHost, device));
  return under_->memory().UnregisterHost(device, at);
}

Result<MemoryInfo> WatchedDevice::Info(DeviceId device) const {
  PLIMSOLL_TRY(Before(DeviceCall::kInfo, device));
  return under_->memory().Info(device);
}

}  // namespace plimsoll::device
