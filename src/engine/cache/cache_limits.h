#pragma once

#include <chrono>
#include <filesystem>

#include "config/run_settings.h"

namespace plimsoll::engine {

using FileTime = std::chrono::system_clock::time_point;
inline constexpr std::chrono::minutes kUnusedFor{30};

// Where the entries of `folder` take more than the limit, removes those that were used longest ago
// until the share that stays is reached. One that was used within the last half hour stays, so that
// the folder may remain larger. Only entries are looked at, and errors pass: another process may be
// doing the same. Gives how many were removed.
int AgeCacheEntries(const std::filesystem::path& folder, const config::CacheLimits& limits,
                    FileTime now);

}  // namespace plimsoll::engine
