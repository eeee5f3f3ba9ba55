#include "cli/reports/plan/plan_comparison.h"

#include <algorithm>

#include "cli/reports/text_table.h"
#include "plimsoll/base/text.h"

namespace plimsoll::cli {
namespace {

// The model with the highest one.
Bytes HighestWaterline(const PlanReports& plans) {
  Bytes most;
  for (const PlanReport& model : plans.models) most = std::max(most, model.peak);
  return most;
}

// `least` may be null.
std::string Verdict(const PlanReports& plans, const PlanReports* least) {
  std::vector<std::string> words;
  if (least != nullptr && plans.total() == least->total()) words.emplace_back("least");
  if (plans.limit) words.emplace_back(plans.total() <= *plans.limit ? "fits" : "does not fit");
  return Join(words, ", ");
}

// Columns that say something in some row, and not the same as the one before them; the first
// always stays. The last is words, which begin below each other.
std::vector<std::vector<std::string>> ColumnsThatTell(std::vector<std::vector<std::string>> rows) {
  size_t widest = 0;
  for (const auto& row : rows) widest = std::max(widest, row.back().size());
  std::vector<std::vector<std::string>> kept(rows.size());
  for (size_t column = 0; column < rows[0].size(); ++column) {
    const bool tells = std::any_of(rows.begin() + 1, rows.end(), [&](const auto& row) {
      return !row[column].empty() && row[column] != "0 B" &&
             (column == 0 || row[column] != row[column - 1]);
    });
    if (column > 0 && !tells) continue;
    for (size_t i = 0; i < rows.size(); ++i) kept[i].push_back(rows[i][column]);
  }
  for (size_t i = 0; i < rows.size() && widest > 0; ++i) kept[i].back().resize(widest, ' ');
  return kept;
}

}  // namespace

const PlanReports* PlanComparison::least() const {
  const PlanReports* found = nullptr;
  for (const Row& row : rows) {
    if (!row.plans.memory || (found != nullptr && found->total() <= row.plans.total())) continue;
    found = &row.plans;
  }
  return found;
}

std::string ComparisonText(const PlanComparison& comparison) {
  std::vector<std::vector<std::string>> rows = {{comparison.of, "weights", "feature map",
                                                 "waterline", "variables", "granularity",
                                                 "on the device", ""}};
  const PlanReports* least = comparison.names_least ? comparison.least() : nullptr;
  std::string refused;
  for (const PlanComparison::Row& row : comparison.rows) {
    if (!row.refused.empty()) {
      refused += StrCat("  ", row.value, ": ", row.refused, "\n");
      continue;
    }
    const std::string waterline = FormatBytes(HighestWaterline(row.plans));
    if (!row.plans.memory) {
      rows.push_back({row.value, "", "", waterline, "", "", "", "only a run tells"});
      continue;
    }
    const engine::DeviceBytes& device = row.plans.memory->device;
    rows.push_back({row.value, FormatBytes(device.weights), FormatBytes(device.feature_maps),
                    waterline, FormatBytes(device.variables), FormatBytes(device.granularity),
                    FormatBytes(device.total()), Verdict(row.plans, least)});
  }
  return StrCat(comparison.note, rows.size() > 1 ? TextTable(ColumnsThatTell(rows), 1) : "",
                rows.size() > 1 || refused.empty() ? "" : comparison.of + "\n", refused);
}

Json ComparisonJson(const PlanComparison& comparison) {
  Json json{{"option", comparison.of}, {"values", Json::array()}};
  if (comparison.largest_that_fits) {
    json["largest_that_fits"] = *comparison.largest_that_fits;
  }
  for (const PlanComparison::Row& row : comparison.rows) {
    Json value{{"value", row.value}};
    if (row.refused.empty()) {
      value.update(PlanJson(row.plans));
    } else {
      value["refused"] = row.refused;
    }
    json["values"].push_back(std::move(value));
  }
  return json;
}

}  // namespace plimsoll::cli
