#include "plimsoll/device/cpu_device.h"

#include <cstring>
#include <utility>

#include "device/cpu/cpu_memory.h"
#include "device/cpu/cpu_streams.h"
#include "device/cpu/system_memory.h"
#include "device/thread_bindings.h"

namespace plimsoll::device {
namespace {

void* Pointer(Address at) { return reinterpret_cast<void*>(at); }
size_t Size(Bytes size) { return static_cast<size_t>(size.value()); }

}  // namespace

CpuDevice::CpuDevice(CpuOptions options)
    : count_(options.devices),
      reserves_addresses_(options.reserves_addresses),
      name_(ProcessorName()),
      bindings_(std::make_unique<ThreadBindings>()),
      streams_(std::make_unique<CpuStreams>(options.clock)),
      memory_(std::make_unique<CpuMemory>(options, *streams_)) {}

CpuDevice::~CpuDevice() { streams_->Finish(); }

DeviceMemory& CpuDevice::memory() { return *memory_; }

DeviceProperties CpuDevice::Properties(DeviceId) const {
  return {.name = name_,
          .host_reachable = true,
          .alignment = CpuMemory::kPlainAlignment,
          .reserves_addresses = reserves_addresses_,
          .timed_events = true,
          .records = true};
}

DeviceId CpuDevice::Current() const { return bindings_->BoundOr(DeviceId{current_.load()}); }

Status CpuDevice::SetCurrent(DeviceId device) {
  PLIMSOLL_TRY(memory_->CheckDevice(DeviceCall::kSetCurrent, device));
  current_ = device.ordinal;
  return {};
}

Status CpuDevice::BindThread(DeviceId device) {
  PLIMSOLL_TRY(memory_->CheckDevice(DeviceCall::kBindThread, device));
  bindings_->Bind(device);
  return {};
}

Status CpuDevice::UnbindThread(DeviceId device) { return bindings_->Unbind(device); }

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

Result<EventId> CpuDevice::RecordTimedEvent(DeviceId device, StreamId stream) {
  return streams_->RecordTimed(device, stream);
}

Result<bool> CpuDevice::EventReached(DeviceId device, EventId event) {
  return streams_->Reached(device, event);
}

Status CpuDevice::WaitEvent(DeviceId device, StreamId stream, EventId event) {
  return streams_->Wait(device, stream, event);
}

Status CpuDevice::SynchronizeEvent(DeviceId device, EventId event) {
  return streams_->SynchronizeEvent(device, event);
}

Result<std::chrono::nanoseconds> CpuDevice::ElapsedTime(DeviceId device, EventId from, EventId to) {
  return streams_->Elapsed(device, from, to);
}

Status CpuDevice::DestroyEvent(DeviceId device, EventId event) {
  return streams_->DestroyEvent(device, event);
}

Status CpuDevice::Copy(DeviceId device, StreamId stream, Address to, Address from, Bytes size) {
  const auto copy = [=] {
    if (size > Bytes(0)) std::memmove(Pointer(to), Pointer(from), Size(size));
  };
  return memory_->EnqueueTouching(DeviceCall::kCopy, device, stream,
                                  {{copy, {{{to, size}}, {{from, size}}}}});
}

Status CpuDevice::Fill(DeviceId device, StreamId stream, Address at, uint8_t value, Bytes size) {
  const auto fill = [=] {
    if (size > Bytes(0)) std::memset(Pointer(at), value, Size(size));
  };
  return memory_->EnqueueTouching(DeviceCall::kFill, device, stream,
                                  {{fill, {{{at, size}, Reach::kOwnDevice}}}});
}

Status CpuDevice::Enqueue(DeviceId device, StreamId stream, StreamWork work) {
  if (work == nullptr) {
    return CallError(DeviceCall::kEnqueue, device, ErrorKind::kRunFailed, "there is no work to do");
  }
  const auto run = [this, device, stream, work = std::move(work)] {
    work(StreamContext{*this, device, stream});
  };
  return streams_->Enqueue(DeviceCall::kEnqueue, device, stream, {{run, {}}});
}

Status CpuDevice::LaunchHost(DeviceId device, StreamId stream, std::function<void()> work) {
  if (work == nullptr) {
    return CallError(DeviceCall::kLaunchHost, device, ErrorKind::kRunFailed,
                     "there is no work to do");
  }
  return streams_->Enqueue(DeviceCall::kLaunchHost, device, stream, {{std::move(work), {}}});
}

Status CpuDevice::BeginRecording(DeviceId device, StreamId stream) {
  return streams_->BeginRecording(device, stream);
}

Result<RecordingId> CpuDevice::EndRecording(DeviceId device, StreamId stream) {
  return streams_->EndRecording(device, stream);
}

Status CpuDevice::ReplayRecording(DeviceId device, StreamId stream, RecordingId recording) {
  PLIMSOLL_ASSIGN(std::vector<CpuStream::Item> items, streams_->Recorded(device, recording));
  return memory_->EnqueueTouching(DeviceCall::kReplayRecording, device, stream, std::move(items));
}

Status CpuDevice::DestroyRecording(DeviceId device, RecordingId recording) {
  return streams_->DestroyRecording(device, recording);
}

Status CpuDevice::SynchronizeStream(DeviceId device, StreamId stream) {
  return streams_->Synchronize(device, stream);
}

Status CpuDevice::SynchronizeDevice(DeviceId device) {
  PLIMSOLL_TRY(memory_->CheckDevice(DeviceCall::kSynchronizeDevice, device));
  return streams_->SynchronizeDevice(device);
}

}  // namespace plimsoll::device
