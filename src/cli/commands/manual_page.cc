#include <algorithm>

#include "cli/commands/command_table.h"
#include "cli/version.h"
#include "plimsoll/base/text.h"

namespace plimsoll::cli {
namespace {

// What troff would read as its own: backslashes, hyphens that a reader may copy, and a dot or an
// apostrophe at the start of a line.
std::string Troff(std::string_view text) {
  std::string escaped;
  bool line_begins = true;
  for (const char letter : text) {
    if (line_begins && (letter == '.' || letter == '\'')) escaped += "\\&";
    line_begins = letter == '\n';
    if (letter == '\\') {
      escaped += "\\e";
    } else if (letter == '-') {
      escaped += "\\-";
    } else {
      escaped += letter;
    }
  }
  return escaped;
}

std::string Literally(std::string_view text) {
  return StrCat(".PP\n.nf\n", Troff(Trim(text)), "\n.fi\n");
}

std::string Upper(std::string name) {
  name.erase(0, name.find_first_not_of('-'));
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::toupper(letter)); });
  return name;
}

std::string ValueOf(const CommandTable::Option& option) {
  if (!option.takes_value) return "";
  return option.choices.empty() ? "VALUE" : Join(option.choices, "|");
}

std::string Synopsis(const CommandTable::Command& command) {
  std::string line = StrCat(".B plimsoll ", Troff(command.name));
  const bool options =
      std::any_of(command.options.begin(), command.options.end(),
                  [](const CommandTable::Option& option) { return !option.by_place; });
  line += options ? "\n.RI [ OPTIONS ]" : "";
  for (const CommandTable::Option& option : command.options) {
    if (!option.by_place) continue;
    const std::string name =
        StrCat(Troff(Upper(option.names.front())), option.repeated ? "..." : "");
    line += option.required ? StrCat("\n.I ", name) : StrCat("\n.RI [ ", name, " ]");
  }
  return line + "\n";
}

std::string OptionEntry(const CommandTable::Option& option) {
  std::string names;
  for (const std::string& name : option.names) {
    names += StrCat(names.empty() ? "" : ", ", "\\fB", Troff(name), "\\fR");
  }
  if (const std::string value = ValueOf(option); !option.by_place && !value.empty()) {
    names += StrCat(" \\fI", Troff(value), "\\fR");
  }
  std::string text = StrCat(".TP\n", names, "\n", Troff(option.help), ".\n");
  if (!option.default_text.empty() && option.takes_value) {
    text += StrCat("Without it: ", Troff(option.default_text), ".\n");
  }
  return text;
}

}  // namespace

std::string ManualPage(const CommandTable& table) {
  std::string text = StrCat(".TH PLIMSOLL 1 \"\" \"plimsoll ", Troff(Version()),
                            "\" \"User Commands\"\n.nh\n.ad l\n.SH NAME\nplimsoll \\- ",
                            "plan and run ONNX models with every byte known beforehand\n",
                            ".SH SYNOPSIS\n.B plimsoll\n.I COMMAND\n.RI [ OPTIONS ]\n",
                            ".SH DESCRIPTION\n", Troff(table.summary), "\n.SH COMMANDS\n");
  for (const CommandTable::Command& command : table.commands) {
    text += StrCat(".SS ", Troff(command.name), "\n", Synopsis(command), ".PP\n",
                   Troff(command.summary), ".\n");
    for (const CommandTable::Option& option : command.options) text += OptionEntry(option);
    if (!Trim(command.examples).empty()) text += Literally(command.examples);
  }
  text += StrCat(".SH EXAMPLES\n", Literally(table.examples));
  return text + StrCat(".SH ENVIRONMENT\n.TP\n.B PLIMSOLL_DEVICE\n",
                       "The device where \\fB\\-\\-device\\fR is not given.\n",
                       ".TP\n.B PLIMSOLL_PYTHON\nThe Python that has onnxruntime, for ",
                       "\\fBbench\\fR and \\fBcompare\\fR against it.\n",
                       ".TP\n.B NO_COLOR\nNo colours, whatever the terminal.\n");
}

}  // namespace plimsoll::cli
