#pragma once

#include "cli/reports/plan/plan_report.h"
#include "compile/plan_model.h"
#include "graph/graph.h"
#include "profile/report_data.h"

namespace plimsoll::cli {

// A plan as report.html shows it: every buffer that lives, with the values in it, who makes and who
// reads them. Limit and what the device gives in all are left to the caller. Near-linear.
profile::ReportPlan MakeReportPlan(const graph::Graph& graph, const compile::PlannedModel& model,
                                   const PlanReport& report);

// Writes plans as one page.
Status WriteReportPage(const std::string& file, std::vector<profile::ReportPlan> plans);

}  // namespace plimsoll::cli
