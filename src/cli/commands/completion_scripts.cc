#include "cli/commands/command_table.h"
#include "config/options/option_table.h"
#include "plimsoll/base/text.h"

namespace plimsoll::cli {
namespace {

using config::Option;
using config::OptionType;
using Command = CommandTable::Command;

// A NAME=VALUE stands as three words on bash's line, since = breaks words there.
constexpr std::string_view kBashBody =
    R"bash(  local last=$((COMP_CWORD - 1)) wanted=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]}
  local before=${COMP_WORDS[last]} choices
  [[ $wanted == = ]] && { before='='; last=$COMP_CWORD; wanted=; }
  choices=$(_plimsoll_choices "$command $before")
  if [[ $before == = && ${COMP_WORDS[last - 2]} == --set ]]; then
    COMPREPLY=($(compgen -W "$(_plimsoll_values "${COMP_WORDS[last - 1]}")" -- "$wanted"))
  elif [[ $before == --set ]]; then
    compopt -o nospace 2>/dev/null
    COMPREPLY=($(compgen -S = -W "$names" -- "$wanted"))
  elif ((COMP_CWORD == 1)) || [[ $command == help && $wanted != -* ]]; then
    COMPREPLY=($(compgen -W "$commands" -- "$wanted"))
  elif [[ -n $choices ]]; then
    COMPREPLY=($(compgen -W "$choices" -- "$wanted"))
  elif [[ $wanted == -* ]]; then
    COMPREPLY=($(compgen -W "$(_plimsoll_options "$command")" -- "$wanted"))
  elif [[ $command == options ]]; then
    COMPREPLY=($(compgen -W "$names" -- "$wanted"))
  else
    choices=$(_plimsoll_choices "$command")
    if [[ -n $choices ]]; then
      COMPREPLY=($(compgen -W "$choices" -- "$wanted"))
    else
      compopt -o filenames 2>/dev/null
      local IFS=$'\n'
      COMPREPLY=($(compgen -f -- "$wanted"))
    fi
  fi
}
complete -F _plimsoll plimsoll
)bash";

std::string ValuesOf(const Option& option) {
  if (option.type == OptionType::kSwitch) return "True False";
  if (!option.legal.numbers.empty()) return Join(option.legal.numbers, " ");
  return Join(option.legal.words, " ");
}

std::vector<std::string> CommandNames(const CommandTable& table) {
  std::vector<std::string> names;
  for (const Command& command : table.commands) names.push_back(command.name);
  return names;
}

// Inside '...' of any shell here.
std::string Quoted(std::string text) {
  for (size_t at = 0; (at = text.find('\'', at)) != std::string::npos; at += 4) {
    text.replace(at, 1, "'\\''");
  }
  return text;
}

// In a description of zsh's _arguments brackets and colons have a meaning.
std::string ForZsh(const std::string& text) {
  std::string escaped;
  for (const char letter : text) {
    if (letter == '[' || letter == ']' || letter == ':' || letter == '\\') escaped += '\\';
    escaped += letter;
  }
  return Quoted(escaped);
}

// fish knows \' and \\ inside '...'.
std::string ForFish(const std::string& text) {
  std::string escaped;
  for (const char letter : text) {
    if (letter == '\'' || letter == '\\') escaped += '\\';
    escaped += letter;
  }
  return escaped;
}

std::string ZshValue(const CommandTable::Option& option) {
  if (!option.takes_value) return "";
  if (option.choices.empty()) return ":value:_files";
  return StrCat(":value:(", Join(option.choices, " "), ")");
}

}  // namespace

std::string BashCompletion(const CommandTable& table) {
  std::vector<std::string> names;
  std::string values;
  for (const Option& option : config::OptionTable()) {
    if (option.type == OptionType::kObject) continue;  // given by its fields
    std::vector<std::string_view> keys = {option.name};
    keys.insert(keys.end(), option.other_keys.begin(), option.other_keys.end());
    names.insert(names.end(), keys.begin(), keys.end());
    const std::string legal = ValuesOf(option);
    if (!legal.empty()) values += StrCat("    ", Join(keys, "|"), ") echo '", legal, "' ;;\n");
  }
  std::string options;
  std::string choices;
  for (const Command& command : table.commands) {
    std::vector<std::string> words;
    for (const CommandTable::Option& option : command.options) {
      if (!option.by_place) words.insert(words.end(), option.names.begin(), option.names.end());
      if (option.choices.empty()) continue;
      for (const std::string& name : option.names) {
        choices += StrCat("    '", command.name, option.by_place ? "" : " " + name, "') echo '",
                          Join(option.choices, " "), "' ;;\n");
      }
    }
    options += StrCat("    ", command.name, ") echo '", Join(words, " "), "' ;;\n");
  }
  return StrCat("# Completion of plimsoll for bash: source <(plimsoll completion bash)\n",
                "_plimsoll_values() {\n  case $1 in\n", values, "  esac\n}\n",
                "_plimsoll_options() {\n  case $1 in\n", options, "  esac\n}\n",
                "_plimsoll_choices() {\n  case $1 in\n", choices, "  esac\n}\n",
                "_plimsoll() {\n  local names='", Join(names, " "), "'\n  local commands='",
                Join(CommandNames(table), " "), "'\n", kBashBody);
}

std::string ZshCompletion(const CommandTable& table) {
  std::string commands;
  std::string cases;
  for (const Command& command : table.commands) {
    commands += StrCat("    '", command.name, ":", ForZsh(command.summary), "'\n");
    std::vector<std::string> specs;
    for (const CommandTable::Option& option : command.options) {
      if (option.by_place) {
        const std::string action =
            command.name == "help"   ? StrCat("(", Join(CommandNames(table), " "), ")")
            : option.choices.empty() ? "_files"
                                     : StrCat("(", Join(option.choices, " "), ")");
        specs.push_back(StrCat("'*:", option.names.front(), ":", action, "'"));
        continue;
      }
      for (const std::string& name : option.names) {
        specs.push_back(StrCat("'", option.repeated ? "*" : "", name, "[", ForZsh(option.help), "]",
                               ZshValue(option), "'"));
      }
    }
    cases += StrCat("    ", command.name, ") _arguments ", Join(specs, " \\\n      "), " ;;\n");
  }
  return StrCat("#compdef plimsoll\n",
                "# Completion of plimsoll for zsh: source <(plimsoll completion zsh), or as "
                "_plimsoll in a folder of $fpath\n",
                "_plimsoll() {\n  local -a commands=(\n", commands,
                "  )\n  if ((CURRENT == 2)); then\n    _describe command commands\n    return\n  "
                "fi\n  local command=$words[2]\n  shift words\n  ((CURRENT--))\n  case $command "
                "in\n",
                cases, "  esac\n}\ncompdef _plimsoll plimsoll\n");
}

std::string FishCompletion(const CommandTable& table) {
  std::string text =
      "# Completion of plimsoll for fish: plimsoll completion fish | source\n"
      "complete -c plimsoll -n __fish_use_subcommand -f\n";
  for (const Command& command : table.commands) {
    text += StrCat("complete -c plimsoll -n __fish_use_subcommand -a ", command.name, " -d '",
                   ForFish(command.summary), "'\n");
    const std::string when =
        StrCat("complete -c plimsoll -n '__fish_seen_subcommand_from ", command.name, "'");
    for (const CommandTable::Option& option : command.options) {
      std::string line = when;
      if (!option.by_place) {
        for (const std::string& name : option.names) {
          line += name.starts_with("--") ? StrCat(" -l ", name.substr(2))
                                         : StrCat(" -s ", name.substr(1));
        }
        line += StrCat(" -d '", ForFish(option.help), "'");
      }
      if (option.takes_value && !option.choices.empty()) {
        line += StrCat(" -x -a '", Join(option.choices, " "), "'");
      } else if (command.name == "help" && option.by_place) {
        line += StrCat(" -x -a '", Join(CommandNames(table), " "), "'");
      } else if (option.by_place) {
        continue;  // files, as everywhere
      } else if (option.takes_value) {
        line += " -r";
      }
      text += line + "\n";
    }
  }
  return text;
}

}  // namespace plimsoll::cli
