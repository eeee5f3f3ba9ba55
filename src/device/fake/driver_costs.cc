#include "plimsoll/device/driver_costs.h"

#include <cmath>

namespace plimsoll::device {
namespace {

double Line(double x, double x0, double y0, double x1, double y1) {
  return y0 + (x - x0) * (y1 - y0) / (x1 - x0);
}

}  // namespace

int64_t CostBySize::Nanoseconds(Bytes size) const {
  constexpr double kMebibyte = 1024.0 * 1024.0;
  const double mib = static_cast<double>(size.value()) / kMebibyte;
  double microseconds = at_2_mib;
  if (mib > 256) {
    microseconds = Line(mib, 256, at_256_mib, 1024, at_1_gib);
  } else if (mib > 2) {
    microseconds = Line(mib, 2, at_2_mib, 256, at_256_mib);
  }
  return std::llround(microseconds * 1000);
}

int64_t DriverCosts::Nanoseconds(DeviceCall call, Bytes size) const {
  const auto flat = [](double microseconds) { return std::llround(microseconds * 1000); };
  switch (call) {
    case DeviceCall::kReserveAddress:
      return flat(reserve_address);
    case DeviceCall::kReleaseAddress:
      return flat(release_address);
    case DeviceCall::kCreateChunk:
      return create_chunk.Nanoseconds(size);
    case DeviceCall::kDestroyChunk:
      return destroy_chunk.Nanoseconds(size);
    case DeviceCall::kMap:
      return map.Nanoseconds(size);
    case DeviceCall::kUnmap:
      return unmap.Nanoseconds(size);
    case DeviceCall::kSetAccess:
      return set_access.Nanoseconds(size);
    case DeviceCall::kAllocatePlain:
      return allocate_plain.Nanoseconds(size);
    case DeviceCall::kFreePlain:
      return free_plain.Nanoseconds(size);
    case DeviceCall::kRegisterHost:
      return register_host.Nanoseconds(size);
    case DeviceCall::kUnregisterHost:
      return unregister_host.Nanoseconds(size);
    case DeviceCall::kRecordEvent:
    case DeviceCall::kRecordTimedEvent:
      return flat(record_event);
    case DeviceCall::kEventReached:
      return flat(event_reached);
    case DeviceCall::kWaitEvent:
      return flat(wait_event);
    case DeviceCall::kDestroyEvent:
      return flat(destroy_event);
    case DeviceCall::kSynchronizeEvent:
      return flat(synchronize_event);
    case DeviceCall::kSynchronizeStream:
    case DeviceCall::kSynchronizeDevice:
      return flat(synchronize);
    case DeviceCall::kInfo:
    case DeviceCall::kSetCurrent:
    case DeviceCall::kBindThread:
    case DeviceCall::kUnbindThread:
    case DeviceCall::kCreateStream:
    case DeviceCall::kDestroyStream:
    case DeviceCall::kElapsedTime:
    case DeviceCall::kCopy:
    case DeviceCall::kFill:
    case DeviceCall::kEnqueue:
    case DeviceCall::kLaunchHost:
    case DeviceCall::kBeginRecording:
    case DeviceCall::kEndRecording:
    case DeviceCall::kReplayRecording:
    case DeviceCall::kDestroyRecording:
      return 0;
  }
  return 0;
}

}  // namespace plimsoll::device
