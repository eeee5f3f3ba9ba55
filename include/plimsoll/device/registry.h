#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "plimsoll/device/device.h"

namespace plimsoll::device {

// What every kind of device can be asked for. Kinds have more in their own headers.
struct DeviceSettings {
  int devices = 1;               // of kinds that are as many as one likes; cuda has its cards
  Bytes capacity = Bytes(0);     // of each device; 0: what the kind has
  Bytes granularity = Bytes(0);  // 0: the kind's own
};

// Makes a device of one kind.
using DeviceFactory =
    std::function<Result<std::unique_ptr<Device>>(const DeviceSettings& settings)>;

// A device as people name it: "cpu", "far:0", "cuda:1".
struct DeviceName {
  std::string kind;
  DeviceId id;  // 0 where no number is given
};

// Fails with device.unknown_kind or device.setting.
Result<DeviceName> ParseDeviceName(std::string_view text);

// The kinds of device that this program can make, by name: "cpu", "cuda", "fake" and "far" from the
// start, more by registration. One table for the process. Thread-safe.
Status RegisterDeviceKind(std::string kind, DeviceFactory factory);
std::vector<std::string> DeviceKinds();  // sorted

// A new device of this kind. An unknown name is answered with the nearest known one.
Result<std::unique_ptr<Device>> MakeDevice(std::string_view kind,
                                           const DeviceSettings& settings = {});

}  // namespace plimsoll::device
