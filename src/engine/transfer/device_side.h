#pragma once

#include <memory>
#include <utility>

#include "plimsoll/device/device.h"

namespace plimsoll::engine {

// The device that runs use, and whether the host can touch what lies there. Without a device:
// memory of the process.
struct DeviceSide {
  std::shared_ptr<device::Device> device;
  device::DeviceId id;
  bool host_reachable = true;

  static DeviceSide Of(std::shared_ptr<device::Device> device, device::DeviceId id) {
    const bool reachable = device == nullptr || device->Properties(id).host_reachable;
    return {std::move(device), id, reachable};
  }

  // By what work on the device's streams reaches an address.
  void* WorkPointer(const void* at) const {
    if (host_reachable) return const_cast<void*>(at);
    return device->WorkPointer(id, reinterpret_cast<device::Address>(at));
  }
};

}  // namespace plimsoll::engine
