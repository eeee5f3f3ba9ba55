#pragma once

#include <string>
#include <vector>

#include "cli/commands/config_arguments.h"
#include "cli/reports/plan/plan_report.h"
#include "cli/session_plan.h"
#include "compile/shapes/input_shapes.h"
#include "engine/session.h"
#include "plimsoll/base/status.h"
#include "plimsoll/plan/pack.h"
#include "profile/report_data.h"

namespace plimsoll::cli {

// What `plimsoll plan` is told.
struct PlanArguments {
  std::vector<std::string> models;
  ConfigArguments config;
  std::vector<std::string> shapes;
  std::string variables;
  std::string limit;
  std::string weights;
  std::string order = "search";
  int64_t effort = plan::Effort().steps;
  double deadline_ms = 0;
  int64_t threads = 0;
  int64_t run_threads = 0;
  std::string csv;
  std::string html;
  bool plain = false;
  bool json = false;
};

// What a command plans, and how: remedies change it.
struct PlanRequest {
  std::vector<compile::ShapeArgument> shapes;
  engine::SessionOptions session;
};

Result<PlanRequest> ReadPlanRequest(const PlanArguments& options);

// One model, as it adds to the session. `pages` takes what a report of it shows, where one is asked
// for.
Result<PlanReport> PlanOne(const PlanArguments& options, const std::string& file,
                           const PlanRequest& request, SessionPlan& session,
                           std::vector<profile::ReportPlan>& pages);

// What a session of the models takes from the device. Fails where a model cannot be planned.
Result<Bytes> TotalOf(const PlanArguments& options, const PlanRequest& request);

}  // namespace plimsoll::cli
