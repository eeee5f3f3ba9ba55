#pragma once

#include <string>

#include "cli/answer.h"
#include "engine/session.h"

namespace plimsoll::cli {

// What a session takes from the device, as `plan` and `run` tell it: the parts and their sum.
Json DeviceBytesJson(const engine::SessionMemory& memory);
std::string DeviceBytesText(const engine::SessionMemory& memory);

}  // namespace plimsoll::cli
