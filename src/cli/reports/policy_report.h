#pragma once

#include <string>
#include <vector>

#include "cli/reports/plan_report.h"

namespace plimsoll::cli {

// The same models planned with each value of one option.
struct PolicyReport {
  struct Row {
    std::string value;
    PlanReports plans;    // without models: refused
    std::string refused;  // why this value cannot be
  };
  std::string option;
  std::vector<Row> rows;
};

// A table: what each value takes, and which takes least.
std::string PolicyText(const PolicyReport& report);
// {"option": ..., "values": [{"value": ..., and what PlanJson tells}]}
Json PolicyJson(const PolicyReport& report);

}  // namespace plimsoll::cli
