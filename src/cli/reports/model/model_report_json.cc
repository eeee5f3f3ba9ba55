#include "cli/reports/model/model_report.h"

namespace plimsoll::cli {
namespace {

Json PortsJson(const std::vector<ModelReport::Port>& ports) {
  Json list = Json::array();
  for (const auto& port : ports) {
    Json row = {{"name", port.name}, {"type", port.type}};
    row["bytes"] = port.bytes ? Json(port.bytes->value()) : Json();
    list.push_back(std::move(row));
  }
  return list;
}

Json MismatchesJson(const compile::DeclaredCheck& check) {
  Json list = Json::array();
  for (const auto& mismatch : check.mismatches) {
    list.push_back({{"value", mismatch.value},
                    {"declared", mismatch.declared},
                    {"computed", mismatch.computed},
                    {"node", mismatch.node}});
  }
  return list;
}

}  // namespace

Json ReportJson(const ModelReport& report) {
  Json json = {
      {"file", report.file}, {"ir_version", report.ir_version}, {"producer", report.producer}};
  json["opsets"] = Json::object();
  for (const auto& [domain, version] : report.opsets) json["opsets"][domain] = version;
  json["metadata"] = Json::object();
  for (const auto& [key, value] : report.metadata) json["metadata"][key] = value;
  json["inputs"] = PortsJson(report.inputs);
  json["outputs"] = PortsJson(report.outputs);
  json["dynamic_dimensions"] = report.open.names;
  json["unnamed_dimensions"] = report.open.of_inputs;
  json["sizes_known_from_data"] = report.open.from_data;
  json["nodes"] = report.nodes;
  json["bodies"] = report.bodies;
  json["operators"] = Json::array();
  for (const auto& row : report.operators) {
    json["operators"].push_back({{"operator", row.name},
                                 {"count", row.count},
                                 {"parameters", row.parameters},
                                 {"operations", row.operations},
                                 {"uncounted", row.uncounted}});
  }
  json["weights_bytes"] = report.weight_bytes.value();
  json["weights"] = Json::array();
  for (const auto& row : report.weights) {
    json["weights"].push_back(
        {{"type", row.type}, {"tensors", row.tensors}, {"bytes", row.bytes.value()}});
  }
  json["missing_tensors"] = report.missing_tensors;
  json["missing_files"] = report.missing_files;
  json["largest_values"] = PortsJson(report.largest_values);
  json["memory_requests"] = Json::array();
  for (const auto& [node, asks] : report.memory_attributes) {
    json["memory_requests"].push_back({{"node", node}, {"memory_attributes", asks}});
  }
  json["unsupported_operators"] = Json::array();
  for (const auto& row : report.unsupported) {
    json["unsupported_operators"].push_back({{"operator", row.name},
                                             {"count", row.count},
                                             {"node", row.node},
                                             {"nearest", row.nearest}});
  }
  json["values_checked"] = report.declared.checked;
  json["values_mismatched"] = report.declared.mismatches.size();
  json["values_undetermined"] = report.declared.undetermined;
  json["mismatches"] = MismatchesJson(report.declared);
  if (report.test_data) {
    json["outputs_checked"] = report.test_data->checked;
    json["outputs_mismatched"] = report.test_data->mismatches.size();
    json["outputs_undetermined"] = report.test_data->undetermined;
    json["output_mismatches"] = report.test_data->mismatches;
  }
  return {{"models", Json::array({std::move(json)})}};
}

}  // namespace plimsoll::cli
