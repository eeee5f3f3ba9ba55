#include <fmt/format.h>

#include <memory>

#include "cli/commands/options.h"
#include "cli/peer/machine.h"
#include "cli/program.h"
#include "cli/reports/text_table.h"
#include "plimsoll/base/text.h"
#include "plimsoll/device/registry.h"

namespace plimsoll::cli {
namespace {

constexpr const char* kDoctorExamples = R"(
Examples:
  plimsoll doctor
  PLIMSOLL_PYTHON=python3 plimsoll doctor --json   with the Python that has onnxruntime)";

// What each kind of device is like, of those that hold bytes.
void AddDevices(std::vector<Finding>& findings) {
  for (const std::string& kind : device::DeviceKinds()) {
    const auto made = device::MakeDevice(kind);
    if (!made.ok()) {
      findings.push_back({"device " + kind, made.error().why, made.error().remedy});
      continue;
    }
    const device::DeviceProperties properties = (*made)->Properties((*made)->Current());
    if (!properties.holds_bytes) continue;
    findings.push_back({"device " + kind,
                        StrCat((*made)->Count(), " x ", properties.name,
                               properties.driver.empty() ? "" : ", driver " + properties.driver,
                               properties.host_reachable ? ", its memory" : ", its memory not",
                               " reachable by the host"),
                        ""});
  }
}

Status Doctor(Answer& answer) {
  std::vector<Finding> findings = ExamineMachine();
  AddDevices(findings);
  if (answer.json()) {
    Json list = Json::array();
    for (const Finding& finding : findings) {
      list.push_back(
          {{"subject", finding.subject}, {"state", finding.state}, {"advice", finding.advice}});
    }
    answer.Add({{"findings", std::move(list)}});
    return {};
  }
  for (const Finding& finding : findings) {
    const std::string said =
        finding.advice.empty() ? finding.state : StrCat(finding.state, "; ", finding.advice);
    answer.Print(Wrapped(fmt::format("{:<20}  ", finding.subject), said, OutputColumns()));
  }
  return {};
}

}  // namespace

void AddDoctor(CLI::App& program, Action& action) {
  auto json = std::make_shared<bool>(false);
  CommandOptions command(program, "doctor", "Show what this machine offers and what would help",
                         kDoctorExamples);
  command.Json(*json);
  WhenChosen(command, action, [json](Answer& answer) { return Doctor(answer); });
}

}  // namespace plimsoll::cli
