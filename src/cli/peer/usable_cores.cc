#include "cli/peer/usable_cores.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <vector>

#include "plimsoll/base/text.h"

namespace plimsoll::cli {
namespace {

std::string FirstLine(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

void Lower(std::optional<double>& limit, double cores) {
  if (cores > 0) limit = std::min(limit.value_or(cores), cores);
}

void Lower(std::optional<Bytes>& limit, const std::string& text) {
  constexpr int64_t kNoLimit = int64_t{1} << 60;  // version 1 has no word for it
  const auto bytes = ParseInteger(text);
  if (bytes && *bytes < kNoLimit) limit = std::min(limit.value_or(Bytes(*bytes)), Bytes(*bytes));
}

void ReadUnified(const std::string& folder, GroupLimits& limits) {
  const std::string line = FirstLine(folder + "/cpu.max");
  const std::vector<std::string_view> cpu = Split(line, ' ');
  if (cpu.size() == 2 && cpu[0] != "max") {
    Lower(limits.cores, ParseDouble(cpu[0]).value_or(0) / ParseDouble(cpu[1]).value_or(1));
  }
  Lower(limits.memory, FirstLine(folder + "/memory.max"));
}

// Calls `read` with the folder of each group from this one up to the root.
template <typename Read>
void ForEachParent(const std::string& mount, std::string group, const Read& read) {
  for (;;) {
    read(mount + group);
    const size_t slash = group.find_last_of('/');
    if (slash == std::string::npos || group == "/") return;
    group.resize(slash);
  }
}

}  // namespace

GroupLimits ReadGroupLimits(const std::string& root) {
  GroupLimits limits;
  const std::string mount = root + "sys/fs/cgroup";
  std::ifstream groups(root + "proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const std::vector<std::string_view> fields = Split(line, ':');
    if (fields.size() < 3) continue;
    const std::string path(fields[2]);
    if (fields[0] == "0") {
      ForEachParent(mount, path, [&](const std::string& folder) { ReadUnified(folder, limits); });
    } else if (fields[1].find("cpu,") == 0 || fields[1] == "cpu" || fields[1] == "cpu,cpuacct") {
      ForEachParent(mount + "/cpu", path, [&](const std::string& folder) {
        const double quota = ParseDouble(FirstLine(folder + "/cpu.cfs_quota_us")).value_or(0);
        const double period = ParseDouble(FirstLine(folder + "/cpu.cfs_period_us")).value_or(1);
        Lower(limits.cores, quota / period);
      });
    } else if (fields[1] == "memory") {
      ForEachParent(mount + "/memory", path, [&](const std::string& folder) {
        Lower(limits.memory, FirstLine(folder + "/memory.limit_in_bytes"));
      });
    }
  }
  return limits;
}

int UsableCores() {
  cpu_set_t bound;
  const bool known = sched_getaffinity(0, sizeof bound, &bound) == 0;
  const int cores = known ? CPU_COUNT(&bound) : static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  const GroupLimits limits = ReadGroupLimits();
  const int most = limits.cores ? static_cast<int>(std::ceil(*limits.cores)) : cores;
  return std::max(1, std::min(cores, most));
}

}  // namespace plimsoll::cli
