#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "engine/session.h"

namespace plimsoll::cli {

// What a session takes from the device, as `plan` and `run` tell it: the parts and their sum.
void AddDeviceBytes(const engine::SessionMemory& memory, nlohmann::ordered_json& json);
std::string DeviceBytesText(const engine::SessionMemory& memory);

}  // namespace plimsoll::cli
