#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace plimsoll::cli {

// The legal words of an option; none where anything is.
std::vector<std::string> ChoicesOf(const CLI::Option& option);

// The commands as a table, read from what each has added to the program: help, completion and the
// manual are made from it alone.
struct CommandTable {
  struct Option {
    std::vector<std::string> names;  // "-o", "--output"; of an argument by place its one name
    bool by_place = false;
    bool required = false;
    bool takes_value = true;
    bool repeated = false;
    std::string help;
    std::string default_text;
    std::vector<std::string> choices;  // empty: anything
  };
  struct Command {
    std::string name;
    std::string summary;
    std::string examples;
    std::vector<Option> options;
  };
  std::string summary;
  std::string examples;
  std::vector<Command> commands;
};

CommandTable ReadCommandTable(CLI::App& program);

// The words that a script of this shell offers.
std::string BashCompletion(const CommandTable& table);
std::string ZshCompletion(const CommandTable& table);
std::string FishCompletion(const CommandTable& table);

// plimsoll.1, for man.
std::string ManualPage(const CommandTable& table);

}  // namespace plimsoll::cli
