#include <array>

#include "config/files/operator_files.h"
#include "config/files/plain_lines.h"
#include "plimsoll/base/text.h"

namespace plimsoll::config {
namespace {

struct DebugSwitch {
  const char* name;
  bool OpDebugConfig::*field;
};

constexpr std::array kDebugSwitches = {DebugSwitch{"oom", &OpDebugConfig::oom},
                                       DebugSwitch{"dump_bin", &OpDebugConfig::dump_bin},
                                       DebugSwitch{"dump_cce", &OpDebugConfig::dump_cce},
                                       DebugSwitch{"dump_loc", &OpDebugConfig::dump_loc},
                                       DebugSwitch{"ccec_O0", &OpDebugConfig::ccec_O0},
                                       DebugSwitch{"ccec_g", &OpDebugConfig::ccec_g},
                                       DebugSwitch{"check_flag", &OpDebugConfig::check_flag}};

void ReadSwitches(const IniEntry& entry, OpDebugConfig& config, Mistakes& mistakes) {
  std::vector<std::string> names;
  for (const DebugSwitch& known : kDebugSwitches) names.emplace_back(known.name);
  for (const std::string& word : CommaWords(entry.value, entry.place, mistakes)) {
    const auto* found =
        std::ranges::find_if(kDebugSwitches, [&](const auto& known) { return known.name == word; });
    if (found == kDebugSwitches.end()) {
      mistakes.Add(FileMistake(entry.place, NotOneOf(word, names)));
    } else {
      config.*found->field = true;
    }
  }
  if (config.ccec_O0 && config.oom) {
    mistakes.Add(FileMistake(entry.place, "ccec_O0 and oom do not go together", "config.conflict"));
  }
}

OperatorList ReadOperators(const IniEntry& entry, Mistakes& mistakes) {
  OperatorList operators;
  for (std::string& item : CommaWords(entry.value, entry.place, mistakes)) {
    const bool is_type = item.starts_with("OpType::") || item.starts_with("opType::");
    if (is_type) item.erase(0, std::string_view("OpType::").size());
    if (item.empty()) mistakes.Add(FileMistake(entry.place, "OpType:: names no type"));
    (is_type ? operators.types : operators.names).push_back(std::move(item));
  }
  return operators;
}

}  // namespace

OpDebugConfig ReadOpDebugConfig(std::string_view text, const std::string& name,
                                Mistakes& mistakes) {
  OpDebugConfig config;
  bool has_switches = false;
  const size_t before = mistakes.size();
  for (const IniEntry& entry : ReadIniEntries(text, name, mistakes)) {
    if (entry.key == "op_debug_config" && !has_switches) {
      ReadSwitches(entry, config, mistakes);
      has_switches = true;
    } else if (entry.key == "op_debug_list" && !config.operators) {
      config.operators = ReadOperators(entry, mistakes);
    } else if (entry.key == "op_debug_config" || entry.key == "op_debug_list") {
      mistakes.Add(FileMistake(entry.place, StrCat(entry.key, " comes a second time")));
    } else {
      mistakes.Add(
          FileMistake(entry.place, NotOneOf(entry.key, {"op_debug_config", "op_debug_list"})));
    }
  }
  if (!has_switches && mistakes.size() == before) {
    mistakes.Add(FileMistake(name, "it has no line op_debug_config = ..."));
  }
  return config;
}

}  // namespace plimsoll::config
