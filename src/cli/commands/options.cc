#include "cli/commands/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "base/usable_cores.h"
#include "cli/program.h"
#include "plimsoll/base/text.h"

namespace plimsoll::cli {
namespace {

constexpr int kMostThreads = 1024;

}  // namespace

CommandOptions::CommandOptions(CLI::App& program, const std::string& name,
                               const std::string& summary, const std::string& examples)
    : command_(program.add_subcommand(name, summary)) {
  command_->footer(examples)->group("Commands");
}

void CommandOptions::Required(const std::string& name, std::string& value,
                              const std::string& help) {
  command_->add_option(name, value, help)->required();
}

void CommandOptions::RequiredList(const std::string& name, std::vector<std::string>& values,
                                  const std::string& help) {
  command_->add_option(name, values, help)->required();
}

void CommandOptions::Text(const std::string& name, std::string& value, const std::string& help) {
  CLI::Option* option = command_->add_option(name, value, help);
  option->check([](const std::string& given) {
    return given.empty() ? std::string("an empty text says nothing: leave the option out") : "";
  });
  if (!value.empty()) option->capture_default_str();
}

void CommandOptions::Choice(const std::string& name, std::string& value,
                            std::vector<std::string> legal, const std::string& help) {
  CLI::Option* option =
      command_->add_option(name, value, help)->check(CLI::IsMember(std::move(legal)));
  if (!value.empty()) option->capture_default_str();
}

void CommandOptions::RequiredChoice(const std::string& name, std::string& value,
                                    std::vector<std::string> legal, const std::string& help) {
  command_->add_option(name, value, help)->required()->check(CLI::IsMember(std::move(legal)));
}

void CommandOptions::Repeated(const std::string& name, std::vector<std::string>& values,
                              const std::string& help) {
  command_->add_option(name, values, help)->allow_extra_args(false);
}

void CommandOptions::Whole(const std::string& name, int64_t& value, int64_t least, int64_t most,
                           const std::string& help) {
  command_->add_option(name, value, help)->check(CLI::Range(least, most))->capture_default_str();
}

void CommandOptions::Threads(int64_t& value, const std::string& of, const std::string& name) {
  value = 0;
  Whole(name, value, 0, kMostThreads, StrCat(of, "; 0: the cores that this process may use"));
}

int ThreadsOf(int64_t given) {
  return given > 0 ? static_cast<int>(given) : std::min(UsableCores(), kMostThreads);
}

void CommandOptions::Real(const std::string& name, double& value, const std::string& help) {
  command_->add_option(name, value, help)->check(CLI::NonNegativeNumber);
}

void CommandOptions::Flag(const std::string& name, bool& value, const std::string& help) {
  command_->add_flag(name, value, help);
}

void WhenChosen(CommandOptions& options, Action& action, Action run) {
  options.command().callback([&action, run = std::move(run)] { action = run; });
}

}  // namespace plimsoll::cli
