#pragma once

#include <vector>

#include "config/options/option.h"

namespace plimsoll::config {

// The rows of the option table, a file each; option_table.cc puts them together.
std::vector<Option> BasicOptions();
std::vector<Option> MemoryOptions();
std::vector<Option> ReuseOptions();
std::vector<Option> PlanningOptions();
std::vector<Option> ShapeOptions();
std::vector<Option> PerformanceOptions();

}  // namespace plimsoll::config
