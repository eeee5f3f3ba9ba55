#include <fmt/format.h>

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands/options.h"
#include "cli/peer/machine.h"
#include "cli/program.h"

namespace plimsoll::cli {
namespace {

Status Doctor(bool json) {
  const std::vector<Finding> findings = ExamineMachine();
  if (json) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const Finding& finding : findings) {
      list.push_back(
          {{"subject", finding.subject}, {"state", finding.state}, {"advice", finding.advice}});
    }
    std::cout << list.dump(2) << "\n";
    return {};
  }
  for (const Finding& finding : findings) {
    std::cout << fmt::format("{:<22}  {}{}\n", finding.subject, finding.state,
                             finding.advice.empty() ? "" : "; " + finding.advice);
  }
  return {};
}

}  // namespace

void AddDoctor(CLI::App& program, Action& action) {
  auto json = std::make_shared<bool>(false);
  CommandOptions command(program, "doctor", "Show what this machine offers and what would help",
                         "");
  command.Json(*json);
  WhenChosen(command, action, [json] { return Doctor(*json); });
}

}  // namespace plimsoll::cli
