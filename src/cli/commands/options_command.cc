#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "cli/commands/command_table.h"
#include "cli/commands/config_arguments.h"
#include "cli/commands/options.h"
#include "cli/commands/options_text.h"
#include "cli/program.h"
#include "config/options/option_table.h"
#include "plimsoll/base/text.h"

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

Status ShowEffective(const Arguments& arguments, Answer& answer) {
  PLIMSOLL_ASSIGN(const EffectiveConfig effective, ResolveArguments(arguments.config));
  answer.Give(
      [&] {
        return Json{{"effective", Json::parse(EffectiveConfigJson(effective))}};
      },
      [&] {
        const bool wide = RoomForLegalValues();
        return StrCat(EffectiveConfigText(effective, wide), wide ? "" : kLegalValuesHint);
      });
  return {};
}

bool HasSettings(const ConfigArguments& given) {
  return !given.settings.empty() || !given.files.empty() ||
         std::any_of(given.shorts.begin(), given.shorts.end(),
                     [](const auto& argument) { return !argument.values.empty(); });
}

// Rows are shown even where the environment is refused: who asks may be about to mend it. The error
// is the outcome all the same. Refused arguments are all that is told.
Status ListOptions(const Arguments& arguments, Answer& answer) {
  const auto effective = ResolveArguments(arguments.config);
  if (!effective.ok() && HasSettings(arguments.config)) return effective.status();
  answer.Give([&] { return OptionListJson(effective.ok() ? &*effective : nullptr); },
              [] { return OptionListText(); });
  return effective.status();
}

Status ShowOption(const Arguments& arguments, Answer& answer) {
  PLIMSOLL_ASSIGN(const Option* option, config::LookUpOption(arguments.name, "argument"));
  const auto effective = ResolveArguments(arguments.config);
  const EffectiveConfig* in_force = effective.ok() ? &*effective : nullptr;
  answer.Give([&] { return OptionJson(*option, in_force); },
              [&] { return OptionText(*option, in_force); });
  return effective.status();
}

Status ShowOptions(const Arguments& arguments, CLI::App& program, Answer& answer) {
  if (arguments.markdown) {
    answer.Give([] { return Json{{"text", OptionMarkdown()}}; }, [] { return OptionMarkdown(); });
    return {};
  }
  if (!arguments.completion.empty()) {
    const CommandTable table = ReadCommandTable(program);
    const std::string script =
        arguments.completion == "zsh" ? ZshCompletion(table) : BashCompletion(table);
    answer.Give([&] { return Json{{"text", script}}; }, [&] { return script; });
    return {};
  }
  if (arguments.effective) return ShowEffective(arguments, answer);
  return arguments.name.empty() ? ListOptions(arguments, answer) : ShowOption(arguments, answer);
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
  WhenChosen(command, action, [arguments, &program](Answer& answer) {
    return ShowOptions(*arguments, program, answer);
  });
}

}  // namespace plimsoll::cli
