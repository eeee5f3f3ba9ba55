#include "replay/counting_device.h"

namespace plimsoll::replay {

using device::DeviceCall;

Status CountingDevice::SetCurrent(device::DeviceId device) {
  Count(DeviceCall::kSetCurrent);
  return under_->SetCurrent(device);
}

Result<device::StreamId> CountingDevice::CreateStream(device::DeviceId device) {
  Count(DeviceCall::kCreateStream);
  return under_->CreateStream(device);
}

Status CountingDevice::DestroyStream(device::DeviceId device, device::StreamId stream) {
  Count(DeviceCall::kDestroyStream);
  return under_->DestroyStream(device, stream);
}

Result<device::EventId> CountingDevice::RecordEvent(device::DeviceId device,
                                                    device::StreamId stream) {
  Count(DeviceCall::kRecordEvent);
  return under_->RecordEvent(device, stream);
}

Result<bool> CountingDevice::EventReached(device::DeviceId device, device::EventId event) {
  Count(DeviceCall::kEventReached);
  return under_->EventReached(device, event);
}

Status CountingDevice::WaitEvent(device::DeviceId device, device::StreamId stream,
                                 device::EventId event) {
  Count(DeviceCall::kWaitEvent);
  return under_->WaitEvent(device, stream, event);
}

Status CountingDevice::DestroyEvent(device::DeviceId device, device::EventId event) {
  Count(DeviceCall::kDestroyEvent);
  return under_->DestroyEvent(device, event);
}

Status CountingDevice::Copy(device::DeviceId device, device::StreamId stream, device::Address to,
                            device::Address from, Bytes size) {
  Count(DeviceCall::kCopy);
  return under_->Copy(device, stream, to, from, size);
}

Status CountingDevice::Fill(device::DeviceId device, device::StreamId stream, device::Address at,
                            uint8_t value, Bytes size) {
  Count(DeviceCall::kFill);
  return under_->Fill(device, stream, at, value, size);
}

Status CountingDevice::Launch(device::DeviceId device, device::StreamId stream,
                              std::function<void()> work) {
  Count(DeviceCall::kLaunch);
  return under_->Launch(device, stream, std::move(work));
}

Status CountingDevice::SynchronizeStream(device::DeviceId device, device::StreamId stream) {
  Count(DeviceCall::kSynchronizeStream);
  return under_->SynchronizeStream(device, stream);
}

Status CountingDevice::SynchronizeDevice(device::DeviceId device) {
  Count(DeviceCall::kSynchronizeDevice);
  return under_->SynchronizeDevice(device);
}

Bytes CountingDevice::Granularity(device::DeviceId device) const {
  return under_->memory().Granularity(device);
}

Result<device::AddressRange> CountingDevice::ReserveAddress(device::DeviceId device, Bytes size,
                                                            Bytes alignment) {
  Count(DeviceCall::kReserveAddress);
  return under_->memory().ReserveAddress(device, size, alignment);
}

Status CountingDevice::ReleaseAddress(device::DeviceId device, device::AddressRange range) {
  Count(DeviceCall::kReleaseAddress);
  return under_->memory().ReleaseAddress(device, range);
}

Result<device::ChunkId> CountingDevice::CreateChunk(device::DeviceId device, Bytes size,
                                                    const device::ChunkOptions& options) {
  Count(DeviceCall::kCreateChunk);
  return under_->memory().CreateChunk(device, size, options);
}

Status CountingDevice::DestroyChunk(device::DeviceId device, device::ChunkId chunk) {
  Count(DeviceCall::kDestroyChunk);
  return under_->memory().DestroyChunk(device, chunk);
}

Status CountingDevice::Map(device::DeviceId device, device::Address at, device::ChunkId chunk) {
  Count(DeviceCall::kMap);
  return under_->memory().Map(device, at, chunk);
}

Status CountingDevice::Unmap(device::DeviceId device, device::Address at, Bytes size) {
  Count(DeviceCall::kUnmap);
  return under_->memory().Unmap(device, at, size);
}

Status CountingDevice::SetAccess(device::DeviceId device, device::Address at, Bytes size) {
  Count(DeviceCall::kSetAccess);
  return under_->memory().SetAccess(device, at, size);
}

Result<device::Address> CountingDevice::AllocatePlain(device::DeviceId device, Bytes size,
                                                      device::MemoryType type) {
  Count(DeviceCall::kAllocatePlain);
  return under_->memory().AllocatePlain(device, size, type);
}

Status CountingDevice::FreePlain(device::DeviceId device, device::Address at) {
  Count(DeviceCall::kFreePlain);
  return under_->memory().FreePlain(device, at);
}

Result<device::MemoryInfo> CountingDevice::Info(device::DeviceId device) const {
  Count(DeviceCall::kInfo);
  return under_->memory().Info(device);
}

}  // namespace plimsoll::replay
