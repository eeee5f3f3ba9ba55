#include <nlohmann/json.hpp>

#include "cli/clearing_report.h"
#include "cli/plan_report.h"

namespace plimsoll::cli {

namespace {

using Json = nlohmann::ordered_json;

Json ModelJson(const PlanReport& report) {
  Json json = {{"file", report.file},
               {"peak_bytes", report.peak.value()},
               {"lower_bound_bytes", report.lower_bound.value()},
               {"file_order_lower_bound_bytes", report.file_order_lower_bound.value()},
               {"compiled_peak_bytes", nullptr},
               {"weights_bytes", report.weights.value()},
               {"device_bytes", report.total.value()},
               {"nodes", report.nodes},
               {"buffers", report.buffers},
               {"optimal", report.optimal},
               {"verified", true},
               {"deadline_hit", report.deadline_hit},
               {"assigner", report.assigner},
               {"order", report.order},
               {"planning_ms", report.planning_ms},
               {"symbols_counted_as_1", report.counted_as_one},
               {"peak_node", report.peak_node}};
  if (report.compiled_peak) json["compiled_peak_bytes"] = report.compiled_peak->value();
  json["regions"] = Json::array();
  for (const auto& row : report.regions) {
    json["regions"].push_back({{"name", row.name},
                               {"kind", row.kind},
                               {"bytes", row.bytes.value()},
                               {"lower_bound_bytes", row.lower_bound.value()},
                               {"alignment", row.alignment},
                               {"buffers", row.buffers},
                               {"from_device", row.from_device}});
  }
  json["peak_buffers"] = Json::array();
  for (const auto& owner : report.peak_owners) {
    json["peak_buffers"].push_back({{"name", owner.name}, {"bytes", owner.bytes.value()}});
  }
  json["ports"] = Json::array();
  for (const auto& port : report.ports) {
    Json row = {{"name", port.name},
                {"kind", port.input ? "input" : "output"},
                {"in_place", port.in_place}};
    if (!port.in_place) row["reason"] = port.reason;
    json["ports"].push_back(std::move(row));
  }
  if (report.clearing) json["clearing"] = ClearingJson(*report.clearing);
  if (report.merged_batches.blocks > 0) {
    json["merged_batches"] = {{"blocks", report.merged_batches.blocks},
                              {"bytes", report.merged_batches.bytes.value()},
                              {"cost_bytes", report.merged_batches.cost.value()}};
  }
  json["notes"] = Json::array();
  for (const auto& [who, text] : report.notes)
    json["notes"].push_back({{"of", who}, {"text", text}});
  if (report.limit) {
    json["limit_bytes"] = report.limit->value();
    json["fits"] = report.total <= *report.limit;
    json["remedies"] = Json::array();
    for (const auto& remedy : report.remedies) {
      json["remedies"].push_back({{"text", remedy.text}, {"device_bytes", remedy.total.value()}});
    }
  }
  return json;
}

}  // namespace

std::string PlanJson(const PlanReports& reports) {
  Json json;
  if (reports.models.size() == 1) {
    json = ModelJson(reports.models.front());
  } else {
    for (const PlanReport& report : reports.models) json["models"].push_back(ModelJson(report));
    json["weights_bytes"] = reports.weights.value();
  }
  json["static_memory_policy"] = reports.policy;
  json["feature_map_reserved_bytes"] = nullptr;
  if (reports.feature_map_reserved) {
    json["feature_map_reserved_bytes"] = reports.feature_map_reserved->value();
  }
  json["variables_bytes"] = reports.variables.value();
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace plimsoll::cli
