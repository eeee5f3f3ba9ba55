#include "plimsoll/device/cpu_device.h"

#include <cstring>
#include <utility>

#include "device/cpu/cpu_memory.h"
#include "device/cpu/cpu_streams.h"

namespace plimsoll::device {
namespace {

void* Pointer(Address at) { return reinterpret_cast<void*>(at); }
size_t Size(Bytes size) { return static_cast<size_t>(size.value()); }

}  // namespace

CpuDevice::CpuDevice(CpuOptions options)
    : count_(options.devices),
      streams_(std::make_unique<CpuStreams>()),
      memory_(std::make_unique<CpuMemory>(options, *streams_)) {}

CpuDevice::~CpuDevice() { streams_->Finish(); }

DeviceMemory& CpuDevice::memory() { return *memory_; }
DeviceId CpuDevice::Current() const { return DeviceId{current_.load()}; }

Status CpuDevice::SetCurrent(DeviceId device) {
  PLIMSOLL_TRY(memory_->CheckDevice(DeviceCall::kSetCurrent, device));
  current_ = device.ordinal;
  return {};
}

Result<StreamId> CpuDevice::CreateStream(DeviceId device) {
  PLIMSOLL_TRY(memory_->CheckDevice(DeviceCall::kCreateStream, device));
  return streams_->Create(device);
}

Status CpuDevice::DestroyStream(DeviceId device, StreamId stream) {
  return streams_->Destroy(device, stream);
}

Result<EventId> CpuDevice::RecordEvent(DeviceId device, StreamId stream) {
  return streams_->Record(device, stream);
}

Result<bool> CpuDevice::EventReached(DeviceId device, EventId event) {
  return streams_->Reached(device, event);
}

Status CpuDevice::WaitEvent(DeviceId device, StreamId stream, EventId event) {
  return streams_->Wait(device, stream, event);
}

Status CpuDevice::DestroyEvent(DeviceId device, EventId event) {
  return streams_->DestroyEvent(device, event);
}

Status CpuDevice::Copy(DeviceId device, StreamId stream, Address to, Address from, Bytes size) {
  const std::vector<AddressRange> uses = {{to, size}, {from, size}};
  return memory_->EnqueueTouching(DeviceCall::kCopy, device, uses, Reach::kAnywhere, [&] {
    const auto copy = [=] {
      if (size > Bytes(0)) std::memmove(Pointer(to), Pointer(from), Size(size));
    };
    return streams_->Enqueue(DeviceCall::kCopy, device, stream, copy, uses);
  });
}

Status CpuDevice::Fill(DeviceId device, StreamId stream, Address at, uint8_t value, Bytes size) {
  const std::vector<AddressRange> uses = {{at, size}};
  return memory_->EnqueueTouching(DeviceCall::kFill, device, uses, Reach::kOwnDevice, [&] {
    const auto fill = [=] {
      if (size > Bytes(0)) std::memset(Pointer(at), value, Size(size));
    };
    return streams_->Enqueue(DeviceCall::kFill, device, stream, fill, uses);
  });
}

Status CpuDevice::Launch(DeviceId device, StreamId stream, std::function<void()> work) {
  if (work == nullptr) {
    return CallError(DeviceCall::kLaunch, device, ErrorKind::kRunFailed, "there is no work to do");
  }
  return streams_->Enqueue(DeviceCall::kLaunch, device, stream, std::move(work), {});
}

Status CpuDevice::SynchronizeStream(DeviceId device, StreamId stream) {
  return streams_->Synchronize(device, stream);
}

Status CpuDevice::SynchronizeDevice(DeviceId device) {
  PLIMSOLL_TRY(memory_->CheckDevice(DeviceCall::kSynchronizeDevice, device));
  return streams_->SynchronizeDevice(device);
}

}  // namespace plimsoll::device
