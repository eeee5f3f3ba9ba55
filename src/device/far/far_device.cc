#include "plimsoll/device/far_device.h"

#include <utility>

namespace plimsoll::device {
namespace {

constexpr Address kFarBit = Address{1} << 62;

// The address at which the processor has the bytes; of the host's own memory the same.
Address Near(Address at) { return at & ~kFarBit; }
Address Far(Address at) { return at | kFarBit; }
// Of memory that is the device's alone: an address without the bit is none of it.
Address NearOrNone(Address at) { return (at & kFarBit) != 0 ? Near(at) : 0; }
// Of memory that is the host's alone: an address with the bit is none of it.
Address HostOrNone(Address at) { return (at & kFarBit) != 0 ? 0 : at; }

}  // namespace

FarDevice::FarDevice(CpuOptions options) : cpu_(std::move(options)) {}

DeviceProperties FarDevice::Properties(DeviceId device) const {
  DeviceProperties properties = cpu_.Properties(device);
  properties.name = "memory that the host cannot reach";
  properties.host_reachable = false;
  return properties;
}

void* FarDevice::WorkPointer(DeviceId, Address at) const {
  return reinterpret_cast<void*>(Near(at));
}

Status FarDevice::SetCurrent(DeviceId device) { return cpu_.SetCurrent(device); }

Status FarDevice::BindThread(DeviceId device) { return cpu_.BindThread(device); }

Status FarDevice::UnbindThread(DeviceId device) { return cpu_.UnbindThread(device); }

Result<StreamId> FarDevice::CreateStream(DeviceId device) { return cpu_.CreateStream(device); }

Status FarDevice::DestroyStream(DeviceId device, StreamId stream) {
  return cpu_.DestroyStream(device, stream);
}

Result<EventId> FarDevice::RecordEvent(DeviceId device, StreamId stream) {
  return cpu_.RecordEvent(device, stream);
}

Result<EventId> FarDevice::RecordTimedEvent(DeviceId device, StreamId stream) {
  return cpu_.RecordTimedEvent(device, stream);
}

Result<bool> FarDevice::EventReached(DeviceId device, EventId event) {
  return cpu_.EventReached(device, event);
}

Status FarDevice::WaitEvent(DeviceId device, StreamId stream, EventId event) {
  return cpu_.WaitEvent(device, stream, event);
}

Status FarDevice::SynchronizeEvent(DeviceId device, EventId event) {
  return cpu_.SynchronizeEvent(device, event);
}

Result<std::chrono::nanoseconds> FarDevice::ElapsedTime(DeviceId device, EventId from, EventId to) {
  return cpu_.ElapsedTime(device, from, to);
}

Status FarDevice::DestroyEvent(DeviceId device, EventId event) {
  return cpu_.DestroyEvent(device, event);
}

Status FarDevice::Copy(DeviceId device, StreamId stream, Address to, Address from, Bytes size) {
  return cpu_.Copy(device, stream, Near(to), Near(from), size);
}

Status FarDevice::Fill(DeviceId device, StreamId stream, Address at, uint8_t value, Bytes size) {
  return cpu_.Fill(device, stream, Near(at), value, size);
}

Status FarDevice::Enqueue(DeviceId device, StreamId stream, StreamWork work) {
  if (work == nullptr) return cpu_.Enqueue(device, stream, nullptr);
  return cpu_.Enqueue(device, stream, [this, work = std::move(work)](const StreamContext& near) {
    work(StreamContext{*this, near.id, near.stream, near.native_stream});
  });
}

Status FarDevice::LaunchHost(DeviceId device, StreamId stream, std::function<void()> work) {
  return cpu_.LaunchHost(device, stream, std::move(work));
}

Status FarDevice::BeginRecording(DeviceId device, StreamId stream) {
  return cpu_.BeginRecording(device, stream);
}

Result<RecordingId> FarDevice::EndRecording(DeviceId device, StreamId stream) {
  return cpu_.EndRecording(device, stream);
}

Status FarDevice::ReplayRecording(DeviceId device, StreamId stream, RecordingId recording) {
  return cpu_.ReplayRecording(device, stream, recording);
}

Status FarDevice::DestroyRecording(DeviceId device, RecordingId recording) {
  return cpu_.DestroyRecording(device, recording);
}

Status FarDevice::SynchronizeStream(DeviceId device, StreamId stream) {
  return cpu_.SynchronizeStream(device, stream);
}

Status FarDevice::SynchronizeDevice(DeviceId device) { return cpu_.SynchronizeDevice(device); }

Bytes FarDevice::Granularity(DeviceId device) const { return cpu_.memory().Granularity(device); }

Result<AddressRange> FarDevice::ReserveAddress(DeviceId device, Bytes size, Bytes alignment) {
  PLIMSOLL_ASSIGN(const AddressRange range, cpu_.memory().ReserveAddress(device, size, alignment));
  return AddressRange{Far(range.base), range.size};
}

Status FarDevice::ReleaseAddress(DeviceId device, AddressRange range) {
  return cpu_.memory().ReleaseAddress(device, {NearOrNone(range.base), range.size});
}

Result<ChunkId> FarDevice::CreateChunk(DeviceId device, Bytes size, const ChunkOptions& options) {
  return cpu_.memory().CreateChunk(device, size, options);
}

Status FarDevice::DestroyChunk(DeviceId device, ChunkId chunk) {
  return cpu_.memory().DestroyChunk(device, chunk);
}

Status FarDevice::Map(DeviceId device, Address at, ChunkId chunk) {
  return cpu_.memory().Map(device, NearOrNone(at), chunk);
}

Status FarDevice::Unmap(DeviceId device, Address at, Bytes size) {
  return cpu_.memory().Unmap(device, NearOrNone(at), size);
}

Status FarDevice::SetAccess(DeviceId device, Address at, Bytes size) {
  return cpu_.memory().SetAccess(device, NearOrNone(at), size);
}

Result<Address> FarDevice::AllocatePlain(DeviceId device, Bytes size, MemoryType type) {
  PLIMSOLL_ASSIGN(const Address at, cpu_.memory().AllocatePlain(device, size, type));
  return type == MemoryType::kHost ? at : Far(at);
}

Status FarDevice::FreePlain(DeviceId device, Address at) {
  return cpu_.memory().FreePlain(device, Near(at));
}

Status FarDevice::RegisterHost(DeviceId device, Address at, Bytes size) {
  return cpu_.memory().RegisterHost(device, HostOrNone(at), size);
}

Status FarDevice::UnregisterHost(DeviceId device, Address at) {
  return cpu_.memory().UnregisterHost(device, HostOrNone(at));
}

Result<MemoryInfo> FarDevice::Info(DeviceId device) const { return cpu_.memory().Info(device); }

}  // namespace plimsoll::device
