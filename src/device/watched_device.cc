#include "plimsoll/device/watched_device.h"

namespace plimsoll::device {

WatchedDevice::Watch::Watch(const WatchedDevice& watched, DeviceCall call)
    : watched_(watched), call_(call), start_(std::chrono::steady_clock::now()) {}

WatchedDevice::Watch::~Watch() {
  watched_.time_[static_cast<size_t>(call_)] += std::chrono::steady_clock::now() - start_;
}

Status WatchedDevice::Watch::Begin(DeviceId device) const {
  ++watched_.calls_[static_cast<size_t>(call_)];
  if (watched_.total_++ != watched_.fails_at_) return {};
  return CallError(call_, device, watched_.failure_, "it was told to fail");
}

std::chrono::nanoseconds WatchedDevice::TimeWithoutWaits() const {
  std::chrono::nanoseconds sum{0};
  for (const DeviceCall call : AllDeviceCalls()) {
    const bool waits = call == DeviceCall::kSynchronizeDevice ||
                       call == DeviceCall::kSynchronizeEvent ||
                       call == DeviceCall::kSynchronizeStream;
    if (!waits) sum += time_[static_cast<size_t>(call)];
  }
  return sum;
}

Status WatchedDevice::SetCurrent(DeviceId device) {
  const Watch watch(*this, DeviceCall::kSetCurrent);
  PLIMSOLL_TRY(watch.Begin(device));
  return under_->SetCurrent(device);
}

Status WatchedDevice::BindThread(DeviceId device) {
  const Watch watch(*this, DeviceCall::kBindThread);
  PLIMSOLL_TRY(watch.Begin(device));
  return under_->BindThread(device);
}

Status WatchedDevice::UnbindThread(DeviceId device) {
  const Watch watch(*this, DeviceCall::kUnbindThread);
  PLIMSOLL_TRY(watch.Begin(device));
  return under_->UnbindThread(device);
}

Result<StreamId> WatchedDevice::CreateStream(DeviceId device) {
  const Watch watch(*this, DeviceCall::kCreateStream);
  PLIMSOLL_TRY(watch.Begin(device));
  return under_->CreateStream(device);
}

Status WatchedDevice::DestroyStream(DeviceId device, StreamId stream) {
  const Watch watch(*this, DeviceCall::kDestroyStream);
  PLIMSOLL_TRY(watch.Begin(device));
  return under_->DestroyStream(device, stream);
}

Result<EventId> WatchedDevice::RecordEvent(DeviceId device, StreamId stream) {
  const Watch watch(*this, DeviceCall::kRecordEvent);
  PLIMSOLL_TRY(watch.Begin(device));
  return under_->RecordEvent(device, stream);
}

Result<EventId> WatchedDevice::RecordTimedEvent(DeviceId device, StreamId stream) {
  const Watch watch(*this, DeviceCall::kRecordTimedEvent);
  PLIMSOLL_TRY(watch.Begin(device));
  return under_->RecordTimedEvent(device, stream);
}

Result<bool> WatchedDevice::EventReached(DeviceId device, EventId event) {
  const Watch watch(*this, DeviceCall::kEventReached);
  PLIMSOLL_TRY(watch.Begin(device));
  return under_->EventReached(device, event);
}

Status WatchedDevice::WaitEvent(DeviceId device, StreamId stream, EventId event) {
  const Watch watch(*this, DeviceCall::kWaitEvent);
  PLIMSOLL_TRY(watch.Begin(device));
  return under_->WaitEvent(device, stream, event);
}

Status WatchedDevice::SynchronizeEvent(DeviceId device, EventId event) {
  const Watch watch(*this, DeviceCall::kSynchronizeEvent);
  PLIMSOLL_TRY(watch.Begin(device));
  return under_->SynchronizeEvent(device, event);
}

Result<std::chrono::nanoseconds> WatchedDevice::ElapsedTime(DeviceId device, EventId from,
                                                            EventId to) {
  const Watch watch(*this, DeviceCall::kElapsedTime);
  PLIMSOLL_TRY(watch.Begin(device));
  return under_->ElapsedTime(device, from, to);
}

Status WatchedDevice::DestroyEvent(DeviceId device, EventId event) {
  const Watch watch(*this, DeviceCall::kDestroyEvent);
  PLIMSOLL_TRY(watch.Begin(device));
  return under_->DestroyEvent(device, event);
}

Status WatchedDevice::Copy(DeviceId device, StreamId stream, Address to, Address from, Bytes size) {
  const Watch watch(*this, DeviceCall::kCopy);
  PLIMSOLL_TRY(watch.Begin(device));
  return under_->Copy(device, stream, to, from, size);
}

Status WatchedDevice::Fill(DeviceId device, StreamId stream, Address at, uint8_t value,
                           Bytes size) {
  const Watch watch(*this, DeviceCall::kFill);
  PLIMSOLL_TRY(watch.Begin(device));
  return under_->Fill(device, stream, at, value, size);
}

Status WatchedDevice::Enqueue(DeviceId device, StreamId stream, StreamWork work) {
  const Watch watch(*this, DeviceCall::kEnqueue);
  PLIMSOLL_TRY(watch.Begin(device));
  return under_->Enqueue(device, stream, std::move(work));
}

Status WatchedDevice::LaunchHost(DeviceId device, StreamId stream, std::function<void()> work) {
  const Watch watch(*this, DeviceCall::kLaunchHost);
  PLIMSOLL_TRY(watch.Begin(device));
  return under_->LaunchHost(device, stream, std::move(work));
}

Status WatchedDevice::BeginRecording(DeviceId device, StreamId stream) {
  const Watch watch(*this, DeviceCall::kBeginRecording);
  PLIMSOLL_TRY(watch.Begin(device));
  return under_->BeginRecording(device, stream);
}

Result<RecordingId> WatchedDevice::EndRecording(DeviceId device, StreamId stream) {
  const Watch watch(*this, DeviceCall::kEndRecording);
  PLIMSOLL_TRY(watch.Begin(device));
  return under_->EndRecording(device, stream);
}

Status WatchedDevice::ReplayRecording(DeviceId device, StreamId stream, RecordingId recording) {
  const Watch watch(*this, DeviceCall::kReplayRecording);
  PLIMSOLL_TRY(watch.Begin(device));
  return under_->ReplayRecording(device, stream, recording);
}

Status WatchedDevice::DestroyRecording(DeviceId device, RecordingId recording) {
  const Watch watch(*this, DeviceCall::kDestroyRecording);
  PLIMSOLL_TRY(watch.Begin(device));
  return under_->DestroyRecording(device, recording);
}

Status WatchedDevice::SynchronizeStream(DeviceId device, StreamId stream) {
  const Watch watch(*this, DeviceCall::kSynchronizeStream);
  PLIMSOLL_TRY(watch.Begin(device));
  return under_->SynchronizeStream(device, stream);
}

Status WatchedDevice::SynchronizeDevice(DeviceId device) {
  const Watch watch(*this, DeviceCall::kSynchronizeDevice);
  PLIMSOLL_TRY(watch.Begin(device));
  return under_->SynchronizeDevice(device);
}

Bytes WatchedDevice::Granularity(DeviceId device) const {
  return under_->memory().Granularity(device);
}

Result<AddressRange> WatchedDevice::ReserveAddress(DeviceId device, Bytes size, Bytes alignment) {
  const Watch watch(*this, DeviceCall::kReserveAddress);
  PLIMSOLL_TRY(watch.Begin(device));
  return under_->memory().ReserveAddress(device, size, alignment);
}

Status WatchedDevice::ReleaseAddress(DeviceId device, AddressRange range) {
  const Watch watch(*this, DeviceCall::kReleaseAddress);
  PLIMSOLL_TRY(watch.Begin(device));
  return under_->memory().ReleaseAddress(device, range);
}

Result<ChunkId> WatchedDevice::CreateChunk(DeviceId device, Bytes size,
                                           const ChunkOptions& options) {
  const Watch watch(*this, DeviceCall::kCreateChunk);
  PLIMSOLL_TRY(watch.Begin(device));
  PLIMSOLL_ASSIGN(const ChunkId chunk, under_->memory().CreateChunk(device, size, options));
  taken_[static_cast<size_t>(options.type)] += size;
  return chunk;
}

Status WatchedDevice::DestroyChunk(DeviceId device, ChunkId chunk) {
  const Watch watch(*this, DeviceCall::kDestroyChunk);
  PLIMSOLL_TRY(watch.Begin(device));
  return under_->memory().DestroyChunk(device, chunk);
}

Status WatchedDevice::Map(DeviceId device, Address at, ChunkId chunk) {
  const Watch watch(*this, DeviceCall::kMap);
  PLIMSOLL_TRY(watch.Begin(device));
  return under_->memory().Map(device, at, chunk);
}

Status WatchedDevice::Unmap(DeviceId device, Address at, Bytes size) {
  const Watch watch(*this, DeviceCall::kUnmap);
  PLIMSOLL_TRY(watch.Begin(device));
  return under_->memory().Unmap(device, at, size);
}

Status WatchedDevice::SetAccess(DeviceId device, Address at, Bytes size) {
  const Watch watch(*this, DeviceCall::kSetAccess);
  PLIMSOLL_TRY(watch.Begin(device));
  return under_->memory().SetAccess(device, at, size);
}

Result<Address> WatchedDevice::AllocatePlain(DeviceId device, Bytes size, MemoryType type) {
  const Watch watch(*this, DeviceCall::kAllocatePlain);
  PLIMSOLL_TRY(watch.Begin(device));
  PLIMSOLL_ASSIGN(const Address at, under_->memory().AllocatePlain(device, size, type));
  taken_[static_cast<size_t>(type)] += size;
  return at;
}

Status WatchedDevice::FreePlain(DeviceId device, Address at) {
  const Watch watch(*this, DeviceCall::kFreePlain);
  PLIMSOLL_TRY(watch.Begin(device));
  return under_->memory().FreePlain(device, at);
}

Status WatchedDevice::RegisterHost(DeviceId device, Address at, Bytes size) {
  const Watch watch(*this, DeviceCall::kRegisterHost);
  PLIMSOLL_TRY(watch.Begin(device));
  return under_->memory().RegisterHost(device, at, size);
}

Status WatchedDevice::UnregisterHost(DeviceId device, Address at) {
  const Watch watch(*this, DeviceCall::kUnregisterHost);
  PLIMSOLL_TRY(watch.Begin(device));
  return under_->memory().UnregisterHost(device, at);
}

Result<MemoryInfo> WatchedDevice::Info(DeviceId device) const {
  const Watch watch(*this, DeviceCall::kInfo);
  PLIMSOLL_TRY(watch.Begin(device));
  return under_->memory().Info(device);
}

}  // namespace plimsoll::device
