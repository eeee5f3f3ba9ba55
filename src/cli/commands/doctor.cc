#include <fmt/format.h>

#include <memory>

#include "cli/commands/options.h"
#include "cli/peer/machine.h"
#include "cli/program.h"
#include "plimsoll/base/text.h"
#include "plimsoll/device/registry.h"

namespace plimsoll::cli {
namespace {

constexpr const char* kDoctorExamples = R"(
Examples:
  plimsoll doctor
  PLIMSOLL_PYTHON=python3 plimsoll doctor --json   with the Python that has onnxruntime)";

// What one device is like; a card of its own also says how much of its memory is free.
Finding Describe(device::Device& device, device::DeviceId id) {
  const device::DeviceProperties properties = device.Properties(id);
  std::string state = properties.name;
  if (!properties.driver.empty()) state += ", driver " + properties.driver;
  state += properties.host_reachable ? ", its memory reachable by the host"
                                     : ", its memory not reachable by the host";
  if (!properties.native_streams) {
    const int count = device.Count();
    return {"device " + device.Kind(),
            StrCat(properties.host_reachable ? "" : "for tests: ",
                   count == 1 ? "" : StrCat(count, " x "), state),
            ""};
  }
  state += properties.reserves_addresses
               ? StrCat(", virtual memory in units of ", device.memory().Granularity(id))
               : std::string(", no virtual memory");
  const std::string subject = StrCat("device ", device.Kind(), ":", id.ordinal);
  const auto info = device.memory().Info(id);
  if (!info.ok()) return {subject, StrCat(state, "; ", info.error().why), info.error().remedy};
  return {subject, StrCat(state, ", ", info->free, " of ", info->total, " free"), ""};
}

// Each kind of device that holds bytes, and each card, or why there is none.
void AddDevices(std::vector<Finding>& findings) {
  for (const std::string& kind : device::DeviceKinds()) {
    const auto made = device::MakeDevice(kind);
    if (!made.ok()) {
      const Error& error = made.error();
      findings.push_back({"device " + kind, StrCat("none: ", error.why),
                          error.code == "device.driver_missing" ? "" : error.remedy});
      continue;
    }
    device::Device& device = **made;
    const device::DeviceProperties properties = device.Properties(device.Current());
    if (!properties.holds_bytes) continue;
    const int cards = properties.native_streams ? device.Count() : 1;
    for (int i = 0; i < cards; ++i) findings.push_back(Describe(device, device::DeviceId{i}));
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
    answer.Print(fmt::format("{:<20}  {}\n", finding.subject, said));
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
