#include "plimsoll/device/device.h"

#include "plimsoll/device/device_call.h"

namespace plimsoll::device {
namespace {

uint64_t BitOf(DeviceId device) {
  constexpr int kBits = 64;
  return device.ordinal >= 0 && device.ordinal < kBits ? uint64_t{1} << device.ordinal : 0;
}

constexpr const char* kNoTimedEvents = "its events keep no time";
constexpr const char* kNoRecordings = "its streams cannot be recorded";

}  // namespace

Result<EventId> Device::RecordTimedEvent(DeviceId device, StreamId) {
  return UnsupportedCall(DeviceCall::kRecordTimedEvent, device, kNoTimedEvents);
}

Result<std::chrono::nanoseconds> Device::ElapsedTime(DeviceId device, EventId, EventId) {
  return UnsupportedCall(DeviceCall::kElapsedTime, device, kNoTimedEvents);
}

Status Device::BeginRecording(DeviceId device, StreamId) {
  return UnsupportedCall(DeviceCall::kBeginRecording, device, kNoRecordings);
}

Result<RecordingId> Device::EndRecording(DeviceId device, StreamId) {
  return UnsupportedCall(DeviceCall::kEndRecording, device, kNoRecordings);
}

Status Device::ReplayRecording(DeviceId device, StreamId, RecordingId) {
  return UnsupportedCall(DeviceCall::kReplayRecording, device, kNoRecordings);
}

Status Device::DestroyRecording(DeviceId device, RecordingId) {
  return UnsupportedCall(DeviceCall::kDestroyRecording, device, kNoRecordings);
}

bool DeviceMemory::IsUnableToReserve(DeviceId device) const {
  return (unable_to_reserve_.load(std::memory_order_relaxed) & BitOf(device)) != 0;
}

Result<AddressRange> DeviceMemory::ReserveAddressIfAble(DeviceId device, Bytes size,
                                                        Bytes alignment) {
  if (IsUnableToReserve(device)) {
    return CallError(DeviceCall::kReserveAddress, device, ErrorKind::kUnsupported,
                     "it has no virtual memory, as it said before", "use plain memory");
  }
  auto range = ReserveAddress(device, size, alignment);
  if (!range.ok() && range.error().kind == ErrorKind::kUnsupported) {
    unable_to_reserve_.fetch_or(BitOf(device), std::memory_order_relaxed);
  }
  return range;
}

}  // namespace plimsoll::device
