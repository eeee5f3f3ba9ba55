#include "engine/cache/cache_limits.h"

#include <sys/stat.h>

#include <algorithm>
#include <tuple>
#include <vector>

#include "engine/cache/cache_entry.h"

namespace plimsoll::engine {
namespace {

struct AgingEntry {
  std::filesystem::path path;
  int64_t size = 0;
  FileTime used;
};

std::vector<AgingEntry> EntriesOf(const std::filesystem::path& folder) {
  std::vector<AgingEntry> entries;
  std::error_code failed;
  for (std::filesystem::directory_iterator at(folder, failed), end; !failed && at != end;
       at.increment(failed)) {
    if (!at->path().string().ends_with(kCacheEntrySuffix)) continue;
    struct stat about {};
    if (lstat(at->path().c_str(), &about) != 0 || !S_ISREG(about.st_mode)) continue;
    const auto used = std::chrono::seconds(about.st_atim.tv_sec) +
                      std::chrono::nanoseconds(about.st_atim.tv_nsec);
    entries.push_back({at->path(), about.st_size,
                       FileTime(std::chrono::duration_cast<FileTime::duration>(used))});
  }
  return entries;
}

}  // namespace

int AgeCacheEntries(const std::filesystem::path& folder, const config::CacheLimits& limits,
                    FileTime now) {
  if (!limits.ages()) return 0;
  constexpr int64_t kMegabyte = 1024 * 1024;
  std::vector<AgingEntry> entries = EntriesOf(folder);
  int64_t total = 0;
  for (const AgingEntry& entry : entries) total += entry.size;
  const int64_t most = limits.max_mb * kMegabyte;
  if (limits.reached_counts ? total < most : total <= most) return 0;
  std::sort(entries.begin(), entries.end(), [](const AgingEntry& a, const AgingEntry& b) {
    return std::tie(a.used, a.path) < std::tie(b.used, b.path);
  });
  const int64_t stays = most / 100 * limits.remain_ratio + most % 100 * limits.remain_ratio / 100;
  int removed = 0;
  for (const AgingEntry& entry : entries) {
    if (total <= stays || now - entry.used <= kUnusedFor) break;
    std::error_code failed;
    if (!std::filesystem::remove(entry.path, failed)) continue;
    total -= entry.size;
    ++removed;
  }
  return removed;
}

}  // namespace plimsoll::engine
