#include "cli/commands/options_text.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "cli/reports/text_table.h"
#include "config/options/option_table.h"
#include "plimsoll/base/text.h"

namespace plimsoll::cli {
namespace {

using config::EffectiveConfig;
using config::EffectiveValue;
using config::Option;

constexpr size_t kLabelWidth = 15;
constexpr size_t kNameWidth = 36;
constexpr size_t kDefaultWidth = 22;
constexpr size_t kStandingWidth = 15;

std::string EnvironmentText(const Option& option) {
  const config::EnvironmentVariable& variable = *option.environment;
  if (variable.name == option.name) return std::string(variable.name);
  return StrCat(variable.name, variable.excludes_option ? "; refused together with the option"
                                                        : "; the option wins over it");
}

std::string Paragraph(std::string_view label, std::string_view text) {
  return fmt::format("{:<{}}{}\n", label, kLabelWidth, text);
}

// "deprecated", "no effect": the standing up to its reason.
std::string StandingWord(const Option& option) {
  const std::string text = StandingText(option);
  const std::string word = text.substr(0, text.find(':'));
  return word == "no effect on this device" ? "no effect" : word;
}

Json TextOrNull(std::string_view text) { return text.empty() ? Json() : Json(text); }

// The key of the graph engine, where one is known.
std::string_view GraphEngineKey(const Option& option) {
  if (option.name.starts_with("ge.")) return option.name;
  const auto key = std::ranges::find_if(
      option.other_keys, [](std::string_view name) { return name.starts_with("ge."); });
  return key == option.other_keys.end() ? std::string_view() : *key;
}

// `in_force` has a key for each option, or none where nothing is.
Json RowJson(const Option& option, const Json& in_force) {
  const std::string_view seed_default =
      option.npu_run_config_default.empty() ? option.default_value : option.npu_run_config_default;
  Json row = {{"name", option.name},
              {"key", TextOrNull(GraphEngineKey(option))},
              {"keys", Json::array({option.name})},
              {"group", GroupName(option.group)},
              {"section", option.section},
              {"seed_index", option.seed_index < 0 ? Json() : Json(option.seed_index)},
              {"level", LevelName(option.level)},
              {"type", TypeName(option.type)},
              {"default", TextOrNull(option.default_value)},
              {"seed_default", TextOrNull(seed_default)},
              {"legal", LegalText(option)},
              {"legal_words", Json::array()},
              {"env", nullptr},
              {"conflicts", Json::array()},
              {"needs", nullptr},
              {"since", option.since},
              {"deprecated", TextOrNull(option.deprecated)},
              {"standing", StandingText(option)},
              {"meaning", option.meaning}};
  for (const std::string_view key : option.other_keys) row["keys"].push_back(key);
  for (const std::string_view word : option.legal.words) row["legal_words"].push_back(word);
  for (const int64_t number : option.legal.numbers) row["legal_words"].push_back(StrCat(number));
  if (option.environment) row["env"] = option.environment->name;
  for (const config::Conflict& conflict : option.conflicts) {
    row["conflicts"].push_back({{"option", conflict.other}, {"reason", conflict.why}});
  }
  if (option.condition) {
    row["needs"] = StrCat(option.condition->other, "=", option.condition->value);
  }
  row["in_force"] = in_force.value(std::string(option.name), Json());
  return row;
}

Json InForce(const EffectiveConfig* effective) {
  return effective ? Json::parse(EffectiveConfigJson(*effective)) : Json::object();
}

}  // namespace

std::string DefaultText(const Option& option) {
  if (option.npu_run_config_default.empty()) {
    return option.default_value.empty() ? "not set" : std::string(option.default_value);
  }
  return StrCat(option.default_value, "; ", option.npu_run_config_default,
                " inside an explicit NPURunConfig");
}

bool RoomForLegalValues() {
  constexpr size_t kColumns = 150;
  return isatty(STDOUT_FILENO) == 0 || OutputColumns() >= kColumns;
}

std::string OptionListText() {
  const bool wide = RoomForLegalValues();
  std::string out;
  std::string_view section;
  for (const Option& option : config::OptionTable()) {
    if (option.section != section) {
      out += StrCat(out.empty() ? "" : "\n", option.section, "\n");
      section = option.section;
    }
    const std::string given =
        option.default_value.empty() ? "-" : std::string(option.default_value);
    out += fmt::format("  {:<{}}{:<{}}", option.name, kNameWidth, given, kDefaultWidth);
    out += wide ? fmt::format("{:<{}}{}\n", StandingWord(option), kStandingWidth, LegalText(option))
                : StrCat(StandingWord(option), "\n");
  }
  if (!wide) out += kLegalValuesHint;
  return out;
}

std::string OptionText(const Option& option, const EffectiveConfig* effective) {
  std::string out = StrCat(option.name, "\n", Paragraph("  meaning", option.meaning));
  if (!option.other_keys.empty()) out += Paragraph("  also", Join(option.other_keys, ", "));
  out += Paragraph("  belongs to", GroupName(option.group));
  out += Paragraph("  level", LevelName(option.level));
  out += Paragraph("  type", TypeName(option.type));
  out += Paragraph("  legal", LegalText(option));
  out += Paragraph("  default", DefaultText(option));
  if (option.environment) out += Paragraph("  environment", EnvironmentText(option));
  for (const config::Conflict& conflict : option.conflicts) {
    out += Paragraph("  conflicts", StrCat(conflict.other, ": ", conflict.why));
  }
  if (option.condition) {
    out += Paragraph("  needs", StrCat(option.condition->other, "=", option.condition->value));
  }
  out += Paragraph("  standing", StandingText(option));
  if (effective != nullptr) {
    const EffectiveValue& value = effective->of(option.name);
    out += Paragraph("  in force", StrCat(ValueText(value), " (", OriginText(value), ")"));
  }
  return out;
}

Json OptionListJson(const EffectiveConfig* effective) {
  const Json in_force = InForce(effective);
  Json list = Json::array();
  for (const Option& option : config::OptionTable()) list.push_back(RowJson(option, in_force));
  return {{"options", std::move(list)}};
}

Json OptionJson(const Option& option, const EffectiveConfig* effective) {
  return {{"options", Json::array({RowJson(option, InForce(effective))})}};
}

}  // namespace plimsoll::cli
