#include <CLI/CLI.hpp>
#include <memory>

#include "cli/commands/command_table.h"
#include "cli/commands/options.h"
#include "cli/program.h"
#include "cli/version.h"
#include "plimsoll/base/text.h"

// What the program tells about itself.
namespace plimsoll::cli {
namespace {

constexpr const char* kCompletionExamples = R"(
Examples:
  source <(plimsoll completion bash)                        in ~/.bashrc
  source <(plimsoll completion zsh)                         in ~/.zshrc, behind compinit
  plimsoll completion fish > ~/.config/fish/completions/plimsoll.fish)";

constexpr const char* kHelpExamples = R"(
Examples:
  plimsoll help          every command, with an example of each
  plimsoll help plan     the options of one command, with examples)";

constexpr const char* kVersionExamples = R"(
Examples:
  plimsoll version
  plimsoll version --json)";

constexpr const char* kManExamples = R"(
Examples:
  plimsoll man | man -l -
  plimsoll man > /usr/local/share/man/man1/plimsoll.1)";

Status ShowText(Answer& answer, const std::string& text) {
  answer.Give([&] { return Json{{"text", text}}; }, [&] { return text; });
  return {};
}

Status ShowHelp(CLI::App& program, const std::string& name, Answer& answer) {
  if (name.empty()) {
    program.clear();  // else the help of this very command would be shown
    return ShowText(answer, program.help());
  }
  std::vector<std::string> names;
  for (const CLI::App* command : program.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
    if (command->get_name() != name) continue;
    return ShowText(answer, command->help(program.get_name()));
  }
  const auto nearest = NearestName(name, names);
  return Error{.kind = ErrorKind::kUsage,
               .code = "cli.command",
               .what = "there is no such command",
               .where = name,
               .why = "",
               .remedy = nearest ? StrCat("did you mean 'plimsoll help ", *nearest, "'?")
                                 : StrCat("the commands are ", Join(names, ", "))};
}

}  // namespace

void AddHelp(CLI::App& program, Action& action) {
  auto name = std::make_shared<std::string>();
  CommandOptions command(program, "help", "Show the help of the program or of a command",
                         kHelpExamples);
  command.Text("command", *name, "The command to show");
  auto json = std::make_shared<bool>(false);
  command.Json(*json);
  WhenChosen(command, action,
             [name, json, &program](Answer& answer) { return ShowHelp(program, *name, answer); });
}

void AddVersion(CLI::App& program, Action& action) {
  auto json = std::make_shared<bool>(false);
  CommandOptions command(program, "version", "Show the version of the program", kVersionExamples);
  command.Json(*json);
  WhenChosen(command, action, [json](Answer& answer) {
    answer.Give(
        [] {
          return Json{{"version", Version()}};
        },
        [] { return StrCat("plimsoll ", Version(), "\n"); });
    return Status();
  });
}

void AddCompletion(CLI::App& program, Action& action) {
  auto shell = std::make_shared<std::string>();
  CommandOptions command(program, "completion",
                         "Print a script that completes commands, options and values in a shell",
                         kCompletionExamples);
  command.RequiredChoice("shell", *shell, {"bash", "zsh", "fish"}, "The shell");
  auto json = std::make_shared<bool>(false);
  command.Json(*json);
  WhenChosen(command, action, [shell, json, &program](Answer& answer) {
    const CommandTable table = ReadCommandTable(program);
    return ShowText(answer, *shell == "bash"  ? BashCompletion(table)
                            : *shell == "zsh" ? ZshCompletion(table)
                                              : FishCompletion(table));
  });
}

void AddMan(CLI::App& program, Action& action) {
  CommandOptions command(program, "man", "Print the manual page", kManExamples);
  auto json = std::make_shared<bool>(false);
  command.Json(*json);
  WhenChosen(command, action, [json, &program](Answer& answer) {
    return ShowText(answer, ManualPage(ReadCommandTable(program)));
  });
}

}  // namespace plimsoll::cli
