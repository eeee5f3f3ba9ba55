#include "config/session_device.h"

#include "plimsoll/base/text.h"

namespace plimsoll::config {

Status CheckSessionDevice(const RunConfig& config, int device_count) {
  const std::optional<int> id = config.session_device_id;
  if (!id || (*id >= 0 && *id < device_count)) return {};
  const std::string devices = device_count == 0   ? "there is no device"
                              : device_count == 1 ? "there is 1 device"
                                                  : StrCat("there are ", device_count, " devices");
  return Error{
      ErrorKind::kUsage,
      "config.device",
      "option refused",
      "session_device_id",
      StrCat("device ", *id, " does not exist, ", devices),
      device_count < 2 ? "leave it unset, or use 0" : StrCat("use 0 to ", device_count - 1)};
}

}  // namespace plimsoll::config
