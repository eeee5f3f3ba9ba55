#include "base/usable_cores.h"

#include <sched.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <iterator>
#include <sstream>
#include <thread>

namespace plimsoll {
namespace {

std::string TextOf(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::optional<double> Quota(double quota, double period) {
  if (!(quota > 0) || !(period > 0)) return {};
  return quota / period;
}

// What the files of one group say, in either version's words.
std::optional<double> QuotaOfGroup(const std::string& folder, bool version_2) {
  if (version_2) return QuotaOfCpuMax(TextOf(folder + "/cpu.max"));
  double quota = 0;
  double period = 0;
  std::istringstream(TextOf(folder + "/cpu.cfs_quota_us")) >> quota;
  std::istringstream(TextOf(folder + "/cpu.cfs_period_us")) >> period;
  return Quota(quota, period);
}

bool NamesCpu(std::string_view controllers) {
  std::istringstream names{std::string(controllers)};
  for (std::string name; std::getline(names, name, ',');) {
    if (name == "cpu") return true;
  }
  return false;
}

int CoresOfAffinity() {
  // Refused where the machine has more processors than there are places, 65,536.
  std::array<cpu_set_t, 64> sets;
  if (sched_getaffinity(0, sizeof sets, sets.data()) == 0) {
    return CPU_COUNT_S(sizeof sets, sets.data());
  }
  return static_cast<int>(std::thread::hardware_concurrency());
}

}  // namespace

std::optional<double> QuotaOfCpuMax(std::string_view text) {
  std::istringstream words{std::string(text)};
  double quota = 0;
  double period = 0;
  if (!(words >> quota >> period)) return {};
  return Quota(quota, period);
}

std::optional<double> LeastQuota(const std::string& root, std::string_view memberships) {
  std::optional<double> least;
  std::istringstream lines{std::string(memberships)};
  for (std::string line; std::getline(lines, line);) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string_view controllers =
        std::string_view(line).substr(first + 1, second - first - 1);
    const bool version_2 = controllers.empty();
    if (!version_2 && !NamesCpu(controllers)) continue;
    const std::string base = version_2 ? root : root + "/cpu";
    std::string group = line.substr(second + 1);
    for (;;) {
      const auto quota = QuotaOfGroup(base + group, version_2);
      if (quota) least = std::min(least.value_or(*quota), *quota);
      if (group.find_first_not_of('/') == std::string::npos) break;
      group.resize(group.find_last_of('/'));
    }
  }
  return least;
}

int UsableCores() {
  static const std::optional<double> quota =
      LeastQuota("/sys/fs/cgroup", TextOf("/proc/self/cgroup"));
  int cores = CoresOfAffinity();
  if (quota) cores = std::min(cores, static_cast<int>(std::ceil(std::min(*quota, 1e6))));
  return std::max(cores, 1);
}

}  // namespace plimsoll
