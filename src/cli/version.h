#pragma once

#include <string>

namespace plimsoll::cli {

std::string Version();  // "0.1.0"

}  // namespace plimsoll::cli
