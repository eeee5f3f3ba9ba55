#include "cli/reports/operator_report.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "cli/reports/text_table.h"
#include "plimsoll/base/text.h"

namespace plimsoll::cli {
namespace {

std::string Fixed(double value, int decimals) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.*f", decimals, value);
  return text;
}

}  // namespace

std::vector<OperatorTime> TimesByOperator(const profile::Recording& recording,
                                          const MachineSpeed& machine) {
  std::map<std::pair<profile::PlanId, uint32_t>, OperatorTime> times;
  double all = 0;
  for (const profile::Event& event : recording.events) {
    if (event.kind != profile::Event::Kind::kOperator) continue;
    OperatorTime& time = times[{event.plan, event.item}];
    const double took = static_cast<double>(event.bytes) / 1e6;
    time.milliseconds += took;
    all += took;
    if (++time.runs > 1) continue;
    time.name = recording.Name(event.name);
    const profile::PlanTable* const plan = recording.Plan(event.plan);
    if (plan == nullptr || event.item >= plan->operators.size()) continue;
    const profile::PlanTable::Operator& about = plan->operators[event.item];
    time.graph = plan->graph;
    time.type = recording.Name(about.type);
    time.kernel = recording.Name(about.kernel);
    time.read = about.read;
    time.written = about.written;
    time.operations = about.operations;
  }
  std::vector<OperatorTime> sorted;
  for (auto& [key, time] : times) {
    time.share = all > 0 ? time.milliseconds / all : 0;
    time.milliseconds /= static_cast<double>(time.runs);
    const double moving = static_cast<double>(time.read + time.written) / machine.bytes_per_second;
    const double computing = static_cast<double>(time.operations) / machine.operations_per_second;
    if (time.milliseconds > 0) {
      time.roofline = std::max(moving, computing) * 1e3 / time.milliseconds;
    }
    sorted.push_back(std::move(time));
  }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const OperatorTime& a, const OperatorTime& b) { return a.share > b.share; });
  return sorted;
}

std::string OperatorTimesText(const std::vector<OperatorTime>& times, const MachineSpeed& machine) {
  std::vector<std::vector<std::string>> rows = {
      {"operator", "type", "kernel", "ms", "share", "read", "written", "roofline"}};
  for (const OperatorTime& time : times) {
    rows.push_back({time.name, time.type, time.kernel, Fixed(time.milliseconds, 3),
                    Fixed(time.share * 100, 1) + " %", FormatBytes(Bytes(time.read)),
                    FormatBytes(Bytes(time.written)),
                    time.roofline > 0 ? Fixed(time.roofline * 100, 0) + " %" : "-"});
  }
  const bool cached = std::any_of(times.begin(), times.end(),
                                  [](const OperatorTime& time) { return time.roofline > 1; });
  return StrCat(FittedTable(std::move(rows), 3, 0, {"written", "read", "kernel"}),
                "roofline: this machine copies ", Fixed(machine.bytes_per_second / 1e9, 1),
                " GB/s and multiplies matrices at ", Fixed(machine.operations_per_second / 1e9, 1),
                " Gflop/s",
                cached ? "; above 100 %: inputs lay in the caches or were read in part" : "", "\n");
}

Json OperatorTimesJson(const std::vector<OperatorTime>& times, const MachineSpeed& machine) {
  Json json;
  json["machine"] = {{"bytes_per_second", std::round(machine.bytes_per_second)},
                     {"operations_per_second", std::round(machine.operations_per_second)}};
  json["operators"] = Json::array();
  for (const OperatorTime& time : times) {
    json["operators"].push_back({{"graph", time.graph},
                                 {"node", time.name},
                                 {"operator", time.type},
                                 {"kernel", time.kernel},
                                 {"runs", time.runs},
                                 {"ms", time.milliseconds},
                                 {"share", time.share},
                                 {"read_bytes", time.read},
                                 {"written_bytes", time.written},
                                 {"operations", time.operations},
                                 {"roofline", time.roofline}});
  }
  return json;
}

}  // namespace plimsoll::cli
