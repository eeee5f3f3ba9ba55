#pragma once

#include <string>

#include "plimsoll/base/status.h"

namespace plimsoll::cli {

// A text file, unpacked when its name ends in ".xz" or it begins as such files do. The unpacked
// text may have at most `kMostUnpacked` bytes, so that a hostile file cannot fill the memory.
inline constexpr size_t kMostUnpacked = size_t{1} << 31;
Result<std::string> ReadMaybeCompressed(const std::string& path);

}  // namespace plimsoll::cli
