#pragma once

#include <string>

#include "profile/record/event.h"
#include "profile/report_data.h"

namespace plimsoll::profile {

// What was recorded, as a report shows it: operators in the order of their times with what they
// did, the memory of feature maps that they held, at its addresses, and in regions of their own the
// weights and variables. Address ranges far from each other are drawn one above the other without
// the space between. Shows the first 100,000 tensors; a note counts the
// rest. Near-linear.
ReportPlan MakeRecordedPlan(const Recording& recording, const std::string& name);

}  // namespace plimsoll::profile
