#pragma once

#include <filesystem>
#include <istream>
#include <string>
#include <vector>

#include "plimsoll/base/status.h"
#include "profile/report_data.h"

namespace plimsoll::cli {

// What an operator_memory table shows, a plan for each device. Fails as ReadOperatorMemory does.
Result<std::vector<profile::ReportPlan>> ReadProfileTable(std::istream& in,
                                                          const std::string& path);

// Writes the page of a table next to it, under its stamp: report_<stamp>.html. Nothing, where the
// table has no rows.
Result<std::filesystem::path> WriteProfilePage(const std::filesystem::path& table);

}  // namespace plimsoll::cli
