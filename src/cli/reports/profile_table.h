#pragma once

#include <istream>
#include <string>
#include <vector>

#include "plimsoll/base/status.h"
#include "profile/report_data.h"

namespace plimsoll::cli {

// What an operator_memory table shows, a plan for each device. Fails as ReadOperatorMemory does.
Result<std::vector<profile::ReportPlan>> ReadProfileTable(std::istream& in,
                                                          const std::string& path);

}  // namespace plimsoll::cli
