#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace plimsoll {

// The processors that this process may keep busy: those that its affinity names, at most as many as
// the quotas of its control group and of the groups above it pay for (rounded up), at least one.
// The affinity is asked at every call, quotas once.
int UsableCores();

// Processors' worth of the text of a version 2 `cpu.max` ("150000 100000" is 1.5); nothing where it
// is "max ..." or cannot be read.
std::optional<double> QuotaOfCpuMax(std::string_view text);

// The least quota of a group and of those above it, as files below `root` tell (a path of
// /proc/self/cgroup, version 2 or the cpu controller of version 1).
std::optional<double> LeastQuota(const std::string& root, std::string_view memberships);

}  // namespace plimsoll
