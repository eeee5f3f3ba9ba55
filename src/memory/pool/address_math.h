#pragma once

#include <cstdint>

#include "plimsoll/device/device.h"

namespace plimsoll::memory {

inline device::Address After(device::Address at, int64_t size) {
  return at + static_cast<uint64_t>(size);
}

inline device::Address After(device::Address at, Bytes size) { return After(at, size.value()); }

inline int64_t Between(device::Address from, device::Address to) {
  return static_cast<int64_t>(to - from);
}

inline device::Address AlignUp(device::Address at, int64_t alignment) {
  const auto mask = static_cast<uint64_t>(alignment) - 1;
  return (at + mask) & ~mask;
}

}  // namespace plimsoll::memory
