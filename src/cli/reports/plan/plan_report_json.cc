#include "cli/reports/clearing_report.h"
#include "cli/reports/plan/plan_report.h"

namespace plimsoll::cli {
namespace {

Json PackedJson(const engine::PackedStore::Packed& packed) {
  return {{"constants", packed.weights},         {"bytes", packed.packed.value()},
          {"plain_bytes", packed.plain.value()}, {"kept_plain_bytes", packed.kept_plain.value()},
          {"more_bytes", packed.more().value()}, {"reason", kWhatPackingBuys}};
}

// Every pattern that is on.
Json FusionJson(const compile::FusionCounts& counts) {
  Json json = Json::array();
  for (const compile::FusionPatternRow& row : compile::FusionPatternTable()) {
    if (!counts.looked_for(row.pattern)) continue;
    const compile::PatternCount& count = counts[row.pattern];
    json.push_back({{"name", row.name},
                    {"group", compile::Name(row.group)},
                    {"match_times", count.matches()},
                    {"effect_times", count.effects},
                    {"repository_hit_times", count.repository_hits}});
  }
  return json;
}

Json ModelJson(const PlanReport& report) {
  const bool program = report.subject == PlanReport::Subject::kProgram;
  Json json = {{"file", report.file},
               {"plain", report.subject == PlanReport::Subject::kFile},
               {"planned", program},
               {"dynamic", report.dynamic}};
  if (report.subject == PlanReport::Subject::kEstimate) {
    json["estimate"] = true;
    json["reason"] = report.reason;
    if (report.cuts) {
      json["stretches"] = {{"count", report.cuts->stretches},
                           {"planned_nodes", report.cuts->planned_nodes},
                           {"single_nodes", report.cuts->single.size()},
                           {"single", report.cuts->single}};
    }
  }
  json.update({{"planned_peak_bytes", report.peak.value()},
               {"lower_bound_bytes", report.lower_bound.value()},
               {"plain_peak_bytes", report.plain_peak.value()},
               {"weights_bytes", report.weights.value()},
               {"feature_map_bytes", report.feature_map.value()},
               {"host_region_bytes", report.host.value()},
               {"host_nodes", report.host_nodes},
               {"fetches", report.fetches},
               {"fetched_bytes", report.fetched.value()},
               {"sends", report.sends},
               {"sent_bytes", report.sent.value()},
               {"nodes", report.nodes},
               {"buffers", report.buffers},
               {"optimal", report.optimal_for_order && report.optimal_order()},
               {"optimal_for_order", report.optimal_for_order},
               {"optimal_order", report.optimal_order()},
               {"order_lower_bound_bytes", nullptr},
               {"verified", true},
               {"deadline_hit", report.deadline_hit},
               {"assigner", report.assigner},
               {"order", report.order},
               {"planning_ms", report.planning_ms},
               {"sizes_known_from_data", report.sizes_from_data},
               {"peak_node", report.peak_node}});
  if (report.order_lower_bound > Bytes(0)) {
    json["order_lower_bound_bytes"] = report.order_lower_bound.value();
  }
  if (program) json["packed_weights"] = PackedJson(report.packed);
  if (report.missing_weights > 0) {
    json["missing_weights"] = {{"constants", report.missing_weights},
                               {"bytes", report.missing_bytes.value()}};
  }
  json["techniques"] = Json::array();
  for (const compile::Technique& technique : report.techniques) {
    json["techniques"].push_back({{"name", technique.name},
                                  {"taken", technique.taken},
                                  {"declined", technique.declined},
                                  {"gained_bytes", technique.gained.value()},
                                  {"reason", technique.reason}});
  }
  if (report.fusion) json["passes"] = FusionJson(*report.fusion);
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
  return json;
}

}  // namespace

Json PlanJson(const PlanReports& reports) {
  Json json = {{"models", Json::array()}};
  for (const PlanReport& report : reports.models) json["models"].push_back(ModelJson(report));
  json["static_memory_policy"] = reports.policy;
  json["memory"] =
      reports.memory ? MemoryJson({.predicted = reports.table()}) : Json{{"predicted", nullptr}};
  if (reports.memory) {
    json["peak_reserved_bytes"] = reports.memory->peak_feature_maps_reserved.value();
  }
  if (reports.limit) {
    json["limit_bytes"] = reports.limit->value();
    json["fits"] = reports.total() <= *reports.limit;
    json["remedies"] = Json::array();
    for (const PlanReports::Remedy& remedy : reports.remedies) {
      json["remedies"].push_back({{"text", remedy.text}, {"device_bytes", remedy.total.value()}});
    }
  }
  return json;
}

}  // namespace plimsoll::cli
