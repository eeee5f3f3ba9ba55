#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/reports/plan/plan_report.h"

namespace plimsoll::cli {

// The same models planned with several values of one thing: an option of the session, or a size
// that the models leave open.
struct PlanComparison {
  struct Row {
    std::string value;
    PlanReports plans;    // without models: refused
    std::string refused;  // why this value cannot be
  };
  std::string of;  // "static_memory_policy", "batch"
  std::vector<Row> rows;
  bool names_least = false;  // a choice, of which people want the one that takes least
  std::string note = {};     // that people are told first
  // Of a size under a limit: the largest that fits, and 0 where none does.
  std::optional<int64_t> largest_that_fits = {};

  // The row that takes least; null where no row tells.
  const PlanReports* least() const;
};

// A table: what each value takes, and which takes least.
std::string ComparisonText(const PlanComparison& comparison);
// {"option": ..., "values": [{"value": ..., and what PlanJson tells}]}
Json ComparisonJson(const PlanComparison& comparison);

}  // namespace plimsoll::cli
