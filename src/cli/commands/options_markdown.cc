#include <map>

#include "cli/commands/options_text.h"
#include "config/options/option_table.h"
#include "plimsoll/base/text.h"

namespace plimsoll::cli {
namespace {

using config::Option;

constexpr std::string_view kMarkdownHead =
    R"(<!-- Written by `plimsoll options --markdown > docs/options.md` from the option table; change src/config/options/ instead. -->
# Options

Every option that a session knows, in the order of the documents. How to give them, which value holds and what is refused stands in
[configuration.md](configuration.md). The same is told by `plimsoll options` (a line each), `plimsoll options NAME` (one in full) and,
with what is in force and where that comes from, `plimsoll options --effective`; all three take `--json`.

*acts*: the option does here what it says. *No effect*: it is checked in full and cannot matter on this device, for the reason given.
*Not supported*: it is checked in full, and what it asks for is not done. *Deprecated*: later versions drop it. Who gives an option
that does nothing is told so, once.
)";

std::string Cell(std::string_view text) {
  std::string cell;
  for (const char c : text) {
    if (c == '|') cell += '\\';
    cell += c == '\n' ? ' ' : c;
  }
  return cell;
}

std::string NameCell(const Option& option) {
  std::string cell = StrCat("`", option.name, "`");
  for (const std::string_view key : option.other_keys) cell += StrCat(", `", key, "`");
  if (option.environment && option.environment->name != option.name) {
    cell += StrCat(", variable `", option.environment->name, "`");
  }
  return cell;
}

std::string MeaningCell(const Option& option) {
  std::string cell(option.meaning);
  for (const config::Conflict& conflict : option.conflicts) {
    cell += StrCat(" Refused with `", conflict.other, "` where ", conflict.why, ".");
  }
  if (option.condition) {
    cell +=
        StrCat(" Acts only with `", option.condition->other, "=", option.condition->value, "`.");
  }
  return cell;
}

std::string CountTable() {
  std::map<std::string, int> counts;
  for (const Option& option : config::OptionTable()) {
    const std::string standing = StandingText(option);
    ++counts[standing.substr(0, standing.find(':'))];
  }
  std::string text = "| standing | options |\n|---|---|\n";
  for (const auto& [standing, count] : counts) text += StrCat("| ", standing, " | ", count, " |\n");
  return text;
}

}  // namespace

std::string OptionMarkdown() {
  std::string page = StrCat(kMarkdownHead, "\n", CountTable());
  std::string_view section;
  for (const Option& option : config::OptionTable()) {
    if (option.section != section) {
      section = option.section;
      page += StrCat("\n## ", section,
                     "\n\n| option | type, level | legal | default | here | meaning |\n"
                     "|---|---|---|---|---|---|\n");
    }
    page +=
        StrCat("| ", NameCell(option), " | ", TypeName(option.type), ", ", LevelName(option.level),
               " | ", Cell(LegalText(option)), " | ", Cell(DefaultText(option)), " | ",
               Cell(StandingText(option)), " | ", Cell(MeaningCell(option)), " |\n");
  }
  return page;
}

}  // namespace plimsoll::cli
