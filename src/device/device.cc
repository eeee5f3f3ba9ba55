#include "plimsoll/device/device.h"

#include "plimsoll/device/device_call.h"

namespace plimsoll::device {
namespace {

uint64_t BitOf(DeviceId device) {
  constexpr int kBits = 64;
  return device.ordinal >= 0 && device.ordinal < kBits ? uint64_t{1} << device.ordinal : 0;
}

}  // namespace

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
