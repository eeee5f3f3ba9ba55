#pragma once

#include <string>
#include <string_view>

#include "plimsoll/base/status.h"
#include "profile/report_data.h"

namespace plimsoll::profile {

// The page around its data, made from report/ when we are built.
extern const std::string_view kReportPageBeforeData;
extern const std::string_view kReportPageAfterData;

// The report as one HTML file that loads nothing. Names are text whatever they hold: the data is
// JSON in which <, > and & are escaped, and texts that are no UTF-8 are mended. Linear.
std::string ReportPage(const Report& report);

// Whether the text looks like a page of ours.
bool IsReportPage(std::string_view text);
// The data of a page that ReportPage wrote. Fails (report.page) where the data is no report or
// contradicts itself: every index and size is checked, so pages from anybody may be read.
Result<Report> ReadReportPage(std::string_view page, const std::string& file);

}  // namespace plimsoll::profile
