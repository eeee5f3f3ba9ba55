#pragma once

#include <filesystem>
#include <istream>
#include <string>
#include <vector>

#include "plimsoll/base/status.h"
#include "profile/record/event.h"
#include "profile/report_data.h"

namespace plimsoll::cli {

// What an operator_memory table shows, a plan for each device. Fails as ReadOperatorMemory does.
Result<std::vector<profile::ReportPlan>> ReadProfileTable(std::istream& in,
                                                          const std::string& path);

// Writes the page of what was recorded next to its operator_memory table, under its stamp:
// report_<stamp>.html. Nothing, where runs took no memory of their own.
Result<std::filesystem::path> WriteProfilePage(const profile::Recording& recording,
                                               const std::filesystem::path& table);

}  // namespace plimsoll::cli
