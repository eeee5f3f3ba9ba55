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

}  // namespace

FarDevice::FarDevice(CpuOptions options) : cpu_(options) {}

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

Result<StreamId> FarDevice::CreateStream(DeviceId device) { return cpu_.CreateStream(device); }

Status FarDevice::DestroyStream(DeviceId device, StreamId stream) {
  return cpu_.DestroyStream(device, stream);
}

Result<EventId> FarDevice::RecordEvent(DeviceId device, StreamId stream) {
  return cpu_.RecordEvent(device, stream);
}

Result<bool> FarDevice::EventReached(DeviceId device, EventId event) {
  return cpu_.EventReached(device, event);
}

Status FarDevice::WaitEvent(DeviceId device, StreamId stream, EventId event) {
  return cpu_.WaitEvent(device, stream, event);
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

Status FarDevice::Launch(DeviceId device, StreamId stream, std::function<void()> work) {
  return cpu_.Launch(device, stream, std::move(work));
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

Result<MemoryInfo> FarDevice::Info(DeviceId device) const { return cpu_.memory().Info(device); }

}  // namespace plimsoll::device
