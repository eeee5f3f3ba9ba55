#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "cli/commands/command_table.h"
#include "cli/commands/config_arguments.h"
#include "cli/commands/options.h"
#include "cli/commands/options_text.h"
#include "cli/program.h"
#include "config/options/option_table.h"

namespace plimsoll::cli {
namespace {

using config::EffectiveConfig;
using config::Option;

struct Arguments {
  std::string name;
  ConfigArguments config;
  bool effective = false;
  bool markdown = false;
  std::string completion;
  bool json = false;
};

constexpr const char* kOptionsExamples = R"(
Examples:
  plimsoll options                                   every option, a line each
  plimsoll options static_memory_policy              one option in full
  plimsoll options --effective                       what is in force, and where it comes from
  plimsoll options --effective --config run.toml --set deterministic=1
                                                     what these would amount to
  source <(plimsoll completion bash)                 names and values behind --set completed)";

Status ShowEffective(const Arguments& arguments) {
  PLIMSOLL_ASSIGN(const EffectiveConfig effective, ResolveArguments(arguments.config));
  std::cout << (arguments.json ? EffectiveConfigJson(effective) : EffectiveConfigText(effective));
  return {};
}

// Rows are shown even where the settings or the environment are refused: who asks may be about to
// mend them. The error is the outcome all the same.
Status ListOptions(const Arguments& arguments) {
  const auto effective = ResolveArguments(arguments.config);
  std::cout << (arguments.json ? OptionListJson(effective.ok() ? &*effective : nullptr)
                               : OptionListText());
  return effective.status();
}

Status ShowOption(const Arguments& arguments) {
  PLIMSOLL_ASSIGN(const Option* option, config::LookUpOption(arguments.name, "argument"));
  const auto effective = ResolveArguments(arguments.config);
  const EffectiveConfig* in_force = effective.ok() ? &*effective : nullptr;
  std::cout << (arguments.json ? OptionJson(*option, in_force) : OptionText(*option, in_force));
  return effective.status();
}

Status ShowOptions(const Arguments& arguments, CLI::App& program) {
  if (arguments.markdown) {
    std::cout << OptionMarkdown();
    return {};
  }
  if (!arguments.completion.empty()) {
    const CommandTable table = ReadCommandTable(program);
    std::cout << (arguments.completion == "zsh" ? ZshCompletion(table) : BashCompletion(table));
    return {};
  }
  if (arguments.effective) return ShowEffective(arguments);
  return arguments.name.empty() ? ListOptions(arguments) : ShowOption(arguments);
}

}  // namespace

void AddOptions(CLI::App& program, Action& action) {
  auto arguments = std::make_shared<Arguments>();
  CommandOptions command(program, "options", "List the options of a session and what is in force",
                         kOptionsExamples);
  command.Text("name", arguments->name, "An option, by any of its keys");
  command.Flag("--effective", arguments->effective,
               "What is in force for every option, and where it comes from");
  command.Flag("--markdown", arguments->markdown, "The page docs/options.md");
  command.Choice("--completion", arguments->completion, {"bash", "zsh"},
                 "What plimsoll completion prints");
  AddConfigArguments(command, arguments->config);
  command.Json(arguments->json);
  WhenChosen(command, action, [arguments, &program] {
    return ShowOptions(*arguments, program);
  });
}

}  // namespace plimsoll::cli
