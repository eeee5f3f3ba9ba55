#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

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

constexpr const char* kManExamples = R"(
Examples:
  plimsoll man | man -l -
  plimsoll man > /usr/local/share/man/man1/plimsoll.1)";

Status ShowHelp(CLI::App& program, const std::string& name) {
  if (name.empty()) {
    program.clear();  // else the help of this very command would be shown
    std::cout << program.help();
    return {};
  }
  std::vector<std::string> names;
  for (const CLI::App* command : program.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
    if (command->get_name() != name) continue;
    std::cout << command->help(program.get_name());
    return {};
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

Status ShowVersion(bool json) {
  if (json) {
    const nlohmann::ordered_json told{{"schema_version", 1},
                                      {"command", "version"},
                                      {"models", nlohmann::ordered_json::array()},
                                      {"version", Version()}};
    std::cout << told.dump(2) << "\n";
  } else {
    std::cout << StrCat("plimsoll ", Version(), "\n");
  }
  return {};
}

}  // namespace

void AddHelp(CLI::App& program, Action& action) {
  auto name = std::make_shared<std::string>();
  CommandOptions command(program, "help", "Show the help of the program or of a command", "");
  command.Text("command", *name, "A command");
  WhenChosen(command, action, [name, &program] { return ShowHelp(program, *name); });
}

void AddVersion(CLI::App& program, Action& action) {
  auto json = std::make_shared<bool>(false);
  CommandOptions command(program, "version", "Show the version of the program", "");
  command.Json(*json);
  WhenChosen(command, action, [json] { return ShowVersion(*json); });
}

void AddCompletion(CLI::App& program, Action& action) {
  auto shell = std::make_shared<std::string>();
  CommandOptions command(program, "completion",
                         "Print a script that completes commands, options and values in a shell",
                         kCompletionExamples);
  command.RequiredChoice("shell", *shell, {"bash", "zsh", "fish"}, "The shell");
  WhenChosen(command, action, [shell, &program] {
    const CommandTable table = ReadCommandTable(program);
    std::cout << (*shell == "bash"  ? BashCompletion(table)
                  : *shell == "zsh" ? ZshCompletion(table)
                                    : FishCompletion(table));
    return Status();
  });
}

void AddMan(CLI::App& program, Action& action) {
  CommandOptions command(program, "man", "Print the manual page", kManExamples);
  WhenChosen(command, action, [&program] {
    std::cout << ManualPage(ReadCommandTable(program));
    return Status();
  });
}

}  // namespace plimsoll::cli
