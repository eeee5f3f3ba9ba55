#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>

namespace plimsoll::engine {

// How large the cache may grow before entries age.
struct CacheLimits {
  int64_t most_megabytes = 500;  // -1: entries never age, and their use is not noted
  int remaining_percent = 50;    // of the limit, that stays when space runs short
  bool once_reached = false;     // entries age at the limit already, not only above it
  bool ageing() const { return most_megabytes >= 0; }
};

using FileTime = std::chrono::system_clock::time_point;
inline constexpr std::chrono::minutes kUnusedFor{30};

// Where the entries of `folder` take more than the limit, removes those that were used longest ago
// until the share that stays is reached. One that was used within the last half hour stays, so that
// the folder may remain larger. Only entries are looked at, and errors pass: another process may be
// doing the same. Gives how many were removed.
int AgeCacheEntries(const std::filesystem::path& folder, const CacheLimits& limits, FileTime now);

}  // namespace plimsoll::engine
