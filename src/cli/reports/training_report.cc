#include "cli/reports/training_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/peer/run_measure.h"
#include "cli/reports/latency_json.h"
#include "cli/reports/text_table.h"
#include "plimsoll/base/text.h"

namespace plimsoll::cli {

Json TrainingJson(const TrainingReport& report) {
  Json json;
  json["file"] = report.model;
  json["steps"] = report.steps;
  json["steps_done"] = report.steps_done;
  json["iterations_per_loop"] = report.loop;
  json["loss"] = report.loss_name;
  json["losses"] = Json::array();
  for (const double loss : report.losses) {
    json["losses"].push_back(std::isfinite(loss) ? Json(loss) : Json());
  }
  json["at_step"] = report.at_step;
  json["step_ms"] = LatencyJson(report.step_ms);
  json["variables"] = report.variables.size();
  json["variables_bytes"] = report.variables_bytes.value();
  json["variables_reserved_bytes"] = report.variables_reserved.value();
  json["addresses_kept"] = report.addresses_kept;
  json["updated_in_place"]["variables"] = report.updates.in_place;
  json["updated_in_place"]["bytes"] = report.updates.in_place_bytes.value();
  Json& copied = json["copied_each_step"];
  copied["variables"] = report.updates.copied;
  copied["bytes"] = report.updates.copied_bytes.value();
  copied["reasons"] = Json::array();
  for (const auto& copy : report.updates.copies) {
    Json why;
    why["variable"] = copy.variable;
    why["reason"] = copy.reason;
    copied["reasons"].push_back(std::move(why));
  }
  json["planned_peak_bytes"] = report.memory.planned_peak.value();
  json["resident_bytes_at_step"] = report.resident;
  return {{"models", Json::array({std::move(json)})},
          {"threads", report.threads},
          {"memory", MemoryJson({.measured = report.table})}};
}

std::string TrainingText(const TrainingReport& report) {
  std::string text = StrCat(report.model, ": ", Counted(static_cast<size_t>(report.steps), "step"),
                            ", ", report.steps_done, " done\n");
  const auto line = [&](std::string_view name, const std::string& value) {
    text +=
        StrCat("  ", name, std::string(16 - std::min<size_t>(name.size(), 15), ' '), value, "\n");
  };
  for (size_t i = 0; i < report.losses.size(); ++i) {
    line(StrCat("step ", report.at_step[i]),
         fmt::format("{} {:.7g}", report.loss_name, report.losses[i]));
  }
  line("a step", StrCat(Rounded(Percentile(report.step_ms, 0.5)), " ms median"));
  line("variables", StrCat(report.variables.size(), " of ", FormatBytes(report.variables_bytes),
                           " in all, ", FormatBytes(report.variables_reserved), " reserved"));
  line("in place", StrCat(report.updates.in_place, " of ",
                          FormatBytes(report.updates.in_place_bytes), " in all"));
  line("copied", report.updates.copied == 0
                     ? std::string("none")
                     : StrCat(report.updates.copied, " of ",
                              FormatBytes(report.updates.copied_bytes), " in all, each step"));
  line("planned peak", FormatBytes(report.memory.planned_peak));
  return text + MemoryText({.measured = report.table}, {});
}

}  // namespace plimsoll::cli
