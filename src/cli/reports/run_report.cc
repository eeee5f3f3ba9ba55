#include "cli/reports/run_report.h"

#include <algorithm>

#include "cli/peer/run_measure.h"
#include "cli/reports/clearing_report.h"
#include "cli/reports/latency_json.h"
#include "cli/reports/text_table.h"
#include "plimsoll/base/text.h"

namespace plimsoll::cli {
namespace {

std::string Line(std::string_view name, const std::string& value) {
  return StrCat("  ", name, std::string(16 - std::min<size_t>(name.size(), 15), ' '), value, "\n");
}

// Whether a run of the batch makes an output.
bool Made(const engine::Port& port, const std::string& batch) {
  return port.batch.empty() || port.batch == batch;
}

// What the last run did with the caller's memory.
void AddPorts(Json& json, const char* kind, const std::vector<engine::Port>& ports,
              const std::vector<compile::PortUse>& uses, const std::string& batch) {
  for (size_t i = 0; i < uses.size(); ++i) {
    if (!Made(ports[i], batch)) continue;
    Json row = {{"name", ports[i].name}, {"kind", kind}, {"in_place", uses[i].in_place()}};
    if (!uses[i].in_place()) row["reason"] = uses[i].reason;
    json.push_back(std::move(row));
  }
}

std::string CopiesText(const char* kind, const std::vector<engine::Port>& ports,
                       const std::vector<compile::PortUse>& uses, const std::string& batch) {
  std::string text;
  for (size_t i = 0; i < uses.size(); ++i) {
    if (uses[i].in_place() || !Made(ports[i], batch)) continue;
    text += Line("copied", StrCat(kind, " ", ports[i].name, ": ", uses[i].reason));
  }
  return text;
}

// How the last run of a model that is not planned as a whole went.
std::string StretchesText(const engine::StretchCounts& counts) {
  constexpr size_t kMostNamed = 8;
  std::string text =
      Line("stretches",
           StrCat(Counted(static_cast<size_t>(counts.planned_nodes), "node"), " in ",
                  counts.stretches, " planned stretch", counts.stretches == 1 ? "" : "es", ", ",
                  counts.single_nodes, counts.single_nodes == 1 ? " by itself" : " by themselves"));
  for (size_t i = 0; i < counts.single.size() && i < kMostNamed; ++i) {
    text += Line("", counts.single[i]);
  }
  const size_t more = counts.single.size() - std::min(counts.single.size(), kMostNamed);
  if (more > 0) text += Line("", StrCat("and ", more, " more"));
  return text;
}

Json ModelJson(const ModelRun& run) {
  Json json{{"file", run.model}, {"runs", run.latency_ms.size()}, {"planned", run.planned}};
  if (!run.planned) {
    const engine::StretchCounts& stretches = run.memory.stretches;
    json["reason"] = run.reason;
    json["stretches"] = {{"count", stretches.stretches},
                         {"planned_nodes", stretches.planned_nodes},
                         {"single_nodes", stretches.single_nodes},
                         {"single", stretches.single}};
  }
  if (!run.batch.empty()) {
    json["batch"] = run.batch;
    json["not_made"] = run.not_made;
  }
  json["latency_ms"] = LatencyJson(run.latency_ms);
  if (run.planned) {
    json["planned_peak_bytes"] = run.memory.planned_peak.value();
    json["actual_peak_bytes"] = run.poisoned.actual_peak.value();
    json["live_peak_bytes"] = run.poisoned.live_peak.value();
    json["wrote_outside_plan"] = run.poisoned.wrote_outside;
    json["feature_map_bytes"] = run.memory.feature_map.value();
    if (run.memory.merged_blocks > Bytes(0)) {
      json["merged_batches"] = {{"bytes", run.memory.merged_blocks.value()},
                                {"cost_bytes", run.memory.merged_cost.value()}};
    }
    const engine::ClearCost& clearing = run.last_run.clearing;
    json["clears"] = clearing.clears;
    json["cleared_bytes"] = clearing.bytes.value();
    json["clear_ms"] = clearing.milliseconds();
    if (run.clearing) json["clearing"] = ClearingJson(*run.clearing);
    const engine::InputTransfers& transfers = run.last_run.transfers;
    json["input_transfers"] = transfers.transfers;
    json["inputs_fused"] = transfers.fused_inputs;
    json["input_transfer_bytes"] = transfers.bytes.value();
    json["ports"] = Json::array();
    AddPorts(json["ports"], "input", run.inputs, run.last_run.ports.inputs, run.batch);
    AddPorts(json["ports"], "output", run.outputs, run.last_run.ports.outputs, run.batch);
  }
  json["outputs"] = Json::array();
  for (const OutputSummary& output : run.made) json["outputs"].push_back(SummaryJson(output));
  json["weights_bytes"] = run.memory.weights.value();
  json["heap_calls_per_run"] = run.heap_calls;
  return json;
}

void AddSession(Json& json, const RunReport& report) {
  json["threads"] = report.threads;
  json["static_memory_policy"] = report.policy;
  json["memory"] = MemoryJson(report.tables());
  if (report.limit) json["limit_bytes"] = report.limit->value();
  if (report.session.variables > Bytes(0)) {
    json["variables_reserved_bytes"] = report.session.variables_reserved.value();
  }
  json["reserved_bytes"] = report.session.feature_maps_reserved.value();
  json["peak_reserved_bytes"] = report.session.peak_feature_maps_reserved.value();
  json["load_peak_above_base_bytes"] = report.load_peak_above_base.value();
  json["resident_above_base_bytes"] = report.resident_above_base.value();
}

std::string ModelText(const ModelRun& run) {
  const auto ms = [](double value) { return Rounded(value) + " ms"; };
  std::string text = StrCat(run.model, ": ", Counted(run.latency_ms.size(), "run"), "\n");
  const std::string slowest = EnoughFor(0.99, run.latency_ms.size())
                                  ? ms(Percentile(run.latency_ms, 0.99)) + " p99"
                                  : ms(Percentile(run.latency_ms, 1)) + " at most";
  text += Line("latency", run.latency_ms.size() == 1
                              ? ms(run.latency_ms[0])
                              : StrCat(ms(Percentile(run.latency_ms, 0.5)), " median, ", slowest));
  if (run.planned) {
    text += Line("planned peak", FormatBytes(run.memory.planned_peak));
    text += Line("actual peak", FormatBytes(run.poisoned.actual_peak));
    text += Line("live peak", FormatBytes(run.poisoned.live_peak));
    if (run.memory.merged_blocks > Bytes(0)) {
      text += Line("merged groups",
                   StrCat(FormatBytes(run.memory.merged_blocks), " of all gears, which costs ",
                          FormatBytes(run.memory.merged_cost)));
    }
    const engine::ClearCost& clearing = run.last_run.clearing;
    if (clearing.clears > 0) {
      text += Line("cleared", StrCat(FormatBytes(clearing.bytes), " in ", clearing.clears,
                                     " clears, ", ms(clearing.milliseconds())));
    }
    if (run.clearing) {
      text +=
          Line("", StrCat("atomic_clean_policy 0 takes ", FormatBytes(run.clearing->peak_together),
                          ", 1 takes ", FormatBytes(run.clearing->peak_separate),
                          ": the common area costs ", FormatBytes(run.clearing->area_cost())));
    }
    const engine::InputTransfers& transfers = run.last_run.transfers;
    if (transfers.transfers > 0) {
      text +=
          Line("transfers", StrCat(Counted(static_cast<size_t>(transfers.inputs), "input"), " of ",
                                   FormatBytes(transfers.bytes), " in ",
                                   Counted(static_cast<size_t>(transfers.transfers), "transfer"),
                                   ", ", transfers.fused_inputs, " fused"));
    }
    text += CopiesText("input", run.inputs, run.last_run.ports.inputs, run.batch);
    text += CopiesText("output", run.outputs, run.last_run.ports.outputs, run.batch);
  } else {
    text += Line("no plan", run.reason);
    text += StretchesText(run.memory.stretches);
  }
  text += Line("weights", FormatBytes(run.memory.weights));
  text += Line("heap calls", StrCat(run.heap_calls, " in the last run"));
  if (!run.batch.empty()) text += Line("batch", run.batch);
  for (const OutputSummary& output : run.made) text += Line("output", SummaryText(output));
  for (const engine::Port& port : run.outputs) {
    if (Made(port, run.batch)) continue;
    text += Line("output", StrCat(port.name, " is not made: it is of batch ", port.batch));
  }
  return text;
}

}  // namespace

MemoryTables RunReport::tables() const {
  Bytes caller;
  for (const ModelRun& model : models) caller += model.caller;
  return {.predicted = predicted,
          .measured = MeasuredMemory(session, caller, base, base + resident_above_base)};
}

Json RunJson(const RunReport& report) {
  Json json = {{"models", Json::array()}};
  for (const ModelRun& run : report.models) json["models"].push_back(ModelJson(run));
  AddSession(json, report);
  if (report.recorded_counters) {
    const profile::MemoryTotals& most = report.recorded_counters->most;
    json["profile"]["peak_allocated_bytes"] = most.allocated;
    json["profile"]["peak_reserved_bytes"] = most.reserved;
  }
  if (report.profile) {
    json["profile"]["dropped_events"] = report.profile->dropped;
    for (const auto& file : report.profile->All())
      json["profile"]["files"].push_back(file.string());
  }
  if (report.by_operator) {
    json["by_operator"] = OperatorTimesJson(report.by_operator->times, report.by_operator->machine);
  }
  return json;
}

std::string RunText(const RunReport& report) {
  std::string text;
  for (const ModelRun& run : report.models) text += ModelText(run);
  text += StrCat("Session of ", Counted(report.models.size(), "model"), ", ",
                 Counted(static_cast<size_t>(report.threads), "thread"), ", static_memory_policy ",
                 report.policy, "\n");
  text += MemoryText(report.tables(), report.limit);
  text += Line("while loading",
               StrCat(FormatBytes(report.base + report.load_peak_above_base), " resident at most"));
  if (report.recorded_counters) {
    const profile::MemoryTotals& most = report.recorded_counters->most;
    text += Line("handed out", StrCat(FormatBytes(Bytes(most.allocated)), " at most, of ",
                                      FormatBytes(Bytes(most.reserved)), " of the device"));
  }
  if (report.profile) {
    for (const auto& file : report.profile->All()) text += Line("recorded", file.string());
    if (report.profile->dropped > 0) {
      text += Line("not recorded", StrCat(Counted(report.profile->dropped, "event"),
                                          ": the recorder's memory was full; "
                                          "profiling_config.profiling_options takes memory_limit"));
    }
  }
  if (report.by_operator) {
    text += OperatorTimesText(report.by_operator->times, report.by_operator->machine);
  }
  return text;
}

}  // namespace plimsoll::cli
