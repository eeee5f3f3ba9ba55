#pragma once

#include <string>
#include <vector>

#include "plimsoll/base/status.h"

namespace plimsoll::bench {

// A row for each drawn workload, then the worst figures of each family. Words: names of families
// (none: all) and a range of seeds, "1-20" where none is given.
Status GeneratedWorkloads(const std::vector<std::string>& words);

}  // namespace plimsoll::bench
