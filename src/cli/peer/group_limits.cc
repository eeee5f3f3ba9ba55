#include "cli/peer/group_limits.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <vector>

#include "base/usable_cores.h"
#include "plimsoll/base/text.h"

namespace plimsoll::cli {
namespace {

void LowerTo(const std::string& path, std::optional<Bytes>& limit) {
  constexpr int64_t kNoLimit = int64_t{1} << 60;  // version 1 has no word for it
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  const auto bytes = ParseInteger(line);
  if (bytes && *bytes < kNoLimit) limit = std::min(limit.value_or(Bytes(*bytes)), Bytes(*bytes));
}

}  // namespace

GroupLimits ReadGroupLimits(const std::string& root) {
  std::ifstream file(root + "proc/self/cgroup");
  const std::string memberships{std::istreambuf_iterator<char>(file), {}};
  GroupLimits limits;
  limits.cores = LeastQuota(root + "sys/fs/cgroup", memberships);
  for (const std::string_view line : Split(memberships, '\n')) {
    const std::vector<std::string_view> fields = Split(line, ':');
    if (fields.size() < 3 || (fields[0] != "0" && fields[1] != "memory")) continue;
    const bool unified = fields[0] == "0";
    const std::string mount = root + "sys/fs/cgroup" + (unified ? "" : "/memory");
    for (std::string group(fields[2]);; group.resize(group.find_last_of('/'))) {
      LowerTo(StrCat(mount, group, unified ? "/memory.max" : "/memory.limit_in_bytes"),
              limits.memory);
      if (group.find('/') == std::string::npos) break;
    }
  }
  return limits;
}

}  // namespace plimsoll::cli
