#include "cli/commands/options_text.h"
#include "config/options/option_table.h"
#include "plimsoll/base/text.h"

namespace plimsoll::cli {
namespace {

using config::Option;
using config::OptionType;

// A NAME=VALUE stands as three words on bash's line, since = breaks words there.
constexpr std::string_view kCompletionBody =
    R"bash(  local last=$((COMP_CWORD - 1)) wanted=${COMP_WORDS[COMP_CWORD]}
  local before=${COMP_WORDS[last]}
  [[ $wanted == = ]] && { before='='; last=$COMP_CWORD; wanted=; }
  if [[ $before == = && ${COMP_WORDS[last - 2]} == --set ]]; then
    COMPREPLY=($(compgen -W "$(_plimsoll_values "${COMP_WORDS[last - 1]}")" -- "$wanted"))
  elif [[ $before == --set ]]; then
    compopt -o nospace 2>/dev/null
    COMPREPLY=($(compgen -S = -W "$names" -- "$wanted"))
  elif ((COMP_CWORD == 1)); then
    COMPREPLY=($(compgen -W "$commands" -- "$wanted"))
  elif [[ ${COMP_WORDS[1]} == options && $wanted != -* ]]; then
    COMPREPLY=($(compgen -W "$names" -- "$wanted"))
  else
    COMPREPLY=($(compgen -f -- "$wanted"))
  fi
}
complete -F _plimsoll plimsoll
)bash";

std::string ValuesOf(const Option& option) {
  if (option.type == OptionType::kSwitch) return "True False";
  if (!option.legal.numbers.empty()) return Join(option.legal.numbers, " ");
  return Join(option.legal.words, " ");
}

}  // namespace

std::string OptionCompletion(const std::vector<std::string>& commands) {
  std::vector<std::string> names;
  std::string cases;
  for (const Option& option : config::OptionTable()) {
    if (option.type == OptionType::kObject) continue;  // given by its fields
    std::vector<std::string_view> keys = {option.name};
    keys.insert(keys.end(), option.other_keys.begin(), option.other_keys.end());
    names.insert(names.end(), keys.begin(), keys.end());
    const std::string values = ValuesOf(option);
    if (!values.empty()) cases += StrCat("    ", Join(keys, "|"), ") echo '", values, "' ;;\n");
  }
  return StrCat("# Completion of plimsoll for bash: source <(plimsoll options --completion bash)\n",
                "_plimsoll_values() {\n  case $1 in\n", cases, "  esac\n}\n",
                "_plimsoll() {\n  local names='", Join(names, " "), "'\n  local commands='",
                Join(commands, " "), "'\n", kCompletionBody);
}

}  // namespace plimsoll::cli
