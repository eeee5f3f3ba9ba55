#include "cli/commands/help_text.h"

#include <string_view>
#include <vector>

#include "cli/commands/command_table.h"
#include "cli/reports/text_table.h"
#include "plimsoll/base/text.h"

namespace plimsoll::cli {
namespace {

bool IsFlag(const CLI::Option& option) { return option.get_items_expected_max() == 0; }

bool TakesSeveral(const CLI::Option& option) { return option.get_items_expected_max() > 1; }

// What stands for the value of an option.
std::string Placeholder(const CLI::Option& option) {
  const std::vector<std::string> choices = ChoicesOf(option);
  if (!choices.empty()) return Join(choices, "|");
  return option.get_type_name().starts_with("TEXT") ? "TEXT" : "N";
}

// Lines of a paragraph, which begin at the left, become lines as wide as the terminal. What is
// indented stays.
std::string WithWideParagraphs(const std::string& text, size_t columns) {
  std::string out;
  std::string paragraph;
  const auto finish = [&] {
    if (!paragraph.empty()) out += Wrapped("", paragraph, columns);
    paragraph.clear();
  };
  for (const std::string_view line : Split(text, '\n')) {
    if (!line.empty() && line.front() != ' ') {
      paragraph += StrCat(paragraph.empty() ? "" : " ", line);
      continue;
    }
    finish();
    out += StrCat(line, "\n");
  }
  finish();
  return out;
}

}  // namespace

HelpText::HelpText() {
  label("Positionals", "Arguments");
  label("SUBCOMMAND", "COMMAND");
}

std::string HelpText::make_option_opts(const CLI::Option* option) const {
  if (IsFlag(*option)) return "";
  if (!option->get_positional()) return " " + Placeholder(*option);
  const std::vector<std::string> choices = ChoicesOf(*option);
  if (!choices.empty()) return " " + Join(choices, "|");
  return TakesSeveral(*option) ? "..." : "";
}

std::string HelpText::make_option_desc(const CLI::Option* option) const {
  const bool asked_for = option->get_required() && !option->get_positional();
  const std::string chosen = option->get_default_str();
  return StrCat(option->get_description(), asked_for ? " (required)" : "",
                chosen.empty() || IsFlag(*option) ? "" : StrCat(" (default: ", chosen, ")"));
}

std::string HelpText::make_footer(const CLI::App* command) const {
  const std::string footer = command->get_footer();
  const size_t begin = footer.find_first_not_of('\n');
  if (begin == std::string::npos) return "";
  return WithWideParagraphs(footer.substr(begin), OutputColumns());
}

}  // namespace plimsoll::cli
