#include "cli/reports/device_bytes.h"

#include <fmt/format.h>

#include "plimsoll/base/text.h"

namespace plimsoll::cli {

Json DeviceBytesJson(const engine::SessionMemory& memory) {
  const engine::DeviceBytes& device = memory.device;
  return {{"weights_bytes", device.weights.value()},
          {"feature_map_bytes", device.feature_maps.value()},
          {"variables_bytes", device.variables.value()},
          {"ports_bytes", device.ports.value()},
          {"granularity_bytes", device.granularity.value()},
          {"device_bytes", device.total().value()},
          {"host_bytes", memory.host.value()}};
}

std::string DeviceBytesText(const engine::SessionMemory& memory) {
  const engine::DeviceBytes& device = memory.device;
  const auto line = [](std::string_view name, Bytes bytes) {
    return fmt::format("  {:<16} {:>12}\n", name, FormatBytes(bytes));
  };
  std::string text = line("weights", device.weights);
  text += line("feature maps", device.feature_maps);
  if (device.variables > Bytes(0)) text += line("variables", device.variables);
  text += line("granularity", device.granularity);
  text += line("from the device", device.total());
  if (memory.host > Bytes(0)) text += line("from the host", memory.host);
  return text;
}

}  // namespace plimsoll::cli
