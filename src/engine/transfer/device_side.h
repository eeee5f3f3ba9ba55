#pragma once

#include <memory>
#include <utility>

#include "compile/placement/target.h"
#include "kernels/backend.h"
#include "plimsoll/device/device.h"

namespace plimsoll::engine {

// The device that runs use, its kernels, and whether the host can touch what lies there. Without a
// device: memory of the process.
struct DeviceSide {
  std::shared_ptr<device::Device> device;
  device::DeviceId id;
  bool host_reachable = true;
  const kernels::Backend* backend = &kernels::HostBackend();

  static DeviceSide Of(std::shared_ptr<device::Device> device, device::DeviceId id) {
    const bool reachable = device == nullptr || device->Properties(id).host_reachable;
    const kernels::Backend& backend =
        device == nullptr ? kernels::HostBackend() : kernels::BackendFor(device->Kind());
    return {std::move(device), id, reachable, &backend};
  }

  // What graphs are compiled for.
  compile::Target target() const { return {.backend = backend, .host_reachable = host_reachable}; }

  // By what work on the device's streams reaches an address.
  void* WorkPointer(const void* at) const {
    if (host_reachable) return const_cast<void*>(at);
    return device->WorkPointer(id, reinterpret_cast<device::Address>(at));
  }
};

}  // namespace plimsoll::engine
