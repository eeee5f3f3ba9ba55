#include "cli/commands/command_table.h"

#include <CLI/CLI.hpp>

#include "plimsoll/base/text.h"

namespace plimsoll::cli {

// CLI11 tells them only as text: "TEXT:{file,search}".
std::vector<std::string> ChoicesOf(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const size_t begin = type.find(":{");
  const size_t end = type.rfind('}');
  if (begin == std::string::npos || end == std::string::npos) return {};
  const std::string listed = type.substr(begin + 2, end - begin - 2);
  std::vector<std::string> choices;
  for (const std::string_view word : Split(listed, ',')) {
    if (!word.empty()) choices.emplace_back(word);
  }
  return choices;
}

namespace {

CommandTable::Option OptionOf(const CLI::Option& option) {
  CommandTable::Option row;
  row.by_place = option.get_positional();
  if (row.by_place) row.names.push_back(option.get_name(true));
  for (const std::string& name : option.get_snames()) row.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) row.names.push_back("--" + name);
  row.required = option.get_required();
  row.takes_value = option.get_items_expected_max() > 0;
  row.repeated = option.get_items_expected_max() > 1;
  row.help = option.get_description();
  row.default_text = option.get_default_str();
  row.choices = ChoicesOf(option);
  return row;
}

}  // namespace

CommandTable ReadCommandTable(CLI::App& program) {
  CommandTable table;
  table.summary = program.get_description();
  table.examples = program.get_footer();
  for (const CLI::App* command : program.get_subcommands([](const CLI::App*) { return true; })) {
    CommandTable::Command& row = table.commands.emplace_back();
    row.name = command->get_name();
    row.summary = command->get_description();
    row.examples = command->get_footer();
    for (const CLI::Option* option : command->get_options()) {
      row.options.push_back(OptionOf(*option));
    }
  }
  return table;
}

}  // namespace plimsoll::cli
