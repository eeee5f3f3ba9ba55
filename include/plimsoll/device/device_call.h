#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "plimsoll/base/status.h"
#include "plimsoll/device/device.h"

namespace plimsoll::device {

// Every call of the seam that can fail, in the order of device.h. Counters, logs and scripted
// failures name calls by these.
enum class DeviceCall {
  kReserveAddress,
  kReleaseAddress,
  kCreateChunk,
  kDestroyChunk,
  kMap,
  kUnmap,
  kSetAccess,
  kAllocatePlain,
  kFreePlain,
  kRegisterHost,
  kUnregisterHost,
  kInfo,
  kSetCurrent,
  kBindThread,
  kUnbindThread,
  kCreateStream,
  kDestroyStream,
  kRecordEvent,
  kRecordTimedEvent,
  kEventReached,
  kWaitEvent,
  kSynchronizeEvent,
  kElapsedTime,
  kDestroyEvent,
  kCopy,
  kFill,
  kEnqueue,
  kLaunchHost,
  kBeginRecording,
  kEndRecording,
  kReplayRecording,
  kDestroyRecording,
  kSynchronizeStream,
  kSynchronizeDevice,
};
inline constexpr size_t kDeviceCallCount = 34;

// Each call once, for tables and sweeps.
constexpr std::array<DeviceCall, kDeviceCallCount> AllDeviceCalls() {
  std::array<DeviceCall, kDeviceCallCount> calls{};
  for (size_t i = 0; i < calls.size(); ++i) calls[i] = static_cast<DeviceCall>(i);
  return calls;
}

// "reserve_address", "map": the stable name used in error codes, logs and JSON.
std::string_view DeviceCallName(DeviceCall call);

// The error of a call that failed: its code is "device." and the call's name, its place the device.
Error CallError(DeviceCall call, DeviceId device, ErrorKind kind, std::string why,
                std::string remedy = "");

// The error of a call that needs an ability which the device has not.
Error UnsupportedCall(DeviceCall call, DeviceId device, std::string why);

// The error of every call on a lost device; `first` is the one that it was lost by.
inline constexpr std::string_view kDeviceLost = "device.lost";
Error LostError(DeviceId device, const Error& first);

}  // namespace plimsoll::device
