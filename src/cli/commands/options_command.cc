#include <fmt/format.h>

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands/config_arguments.h"
#include "cli/commands/options.h"
#include "cli/program.h"
#include "config/options/option_table.h"
#include "plimsoll/base/text.h"

namespace plimsoll::cli {
namespace {

using config::EffectiveConfig;
using config::EffectiveValue;
using config::Option;
using nlohmann::ordered_json;

struct Arguments {
  std::string name;
  ConfigArguments config;
  bool json = false;
};

constexpr size_t kTextWidth = 88;
constexpr size_t kLabelWidth = 14;

constexpr const char* kOptionsExamples = R"(
Examples:
  plimsoll options                                   every option, what is in force and why
  plimsoll options static_memory_policy              one option in full
  plimsoll options --config run.toml --set deterministic=1
                                                     what these would amount to)";

std::string DefaultText(const Option& option) {
  if (option.default_value.empty()) return "not set";
  if (option.npu_run_config_default.empty()) return std::string(option.default_value);
  return StrCat(option.default_value, "; ", option.npu_run_config_default,
                " inside an explicit NPURunConfig");
}

std::string EnvironmentText(const Option& option) {
  const config::EnvironmentVariable& variable = *option.environment;
  if (variable.name == option.name) return std::string(variable.name);
  return StrCat(variable.name, variable.excludes_option ? "; refused together with the option"
                                                        : "; the option wins over it");
}

std::string StandingText(const Option& option) {
  return StrCat(StandingName(option.standing), option.standing_reason.empty() ? "" : ": ",
                option.standing_reason);
}

// "label         text", the text broken at blanks and its further lines indented.
std::string Paragraph(std::string_view label, std::string_view text) {
  std::string out = fmt::format("{:<{}}", label, kLabelWidth);
  size_t column = kLabelWidth;
  bool first = true;
  for (const std::string_view word : Split(text, ' ')) {
    const bool breaks = !first && column + 1 + word.size() > kTextWidth;
    if (breaks) {
      out += "\n" + std::string(kLabelWidth, ' ');
      column = kLabelWidth;
    } else if (!first) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
    first = false;
  }
  return out + "\n";
}

std::string InFull(const Option& option, const EffectiveConfig* effective) {
  std::string out = StrCat(option.name, "\n", Paragraph("  meaning", option.meaning));
  if (!option.other_keys.empty()) out += Paragraph("  also", Join(option.other_keys, ", "));
  out += Paragraph("  belongs to", GroupName(option.group));
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

ordered_json TextOrNull(std::string_view text) {
  return text.empty() ? ordered_json() : ordered_json(text);
}

// `in_force` has a key for each option, or none where nothing is.
ordered_json RowJson(const Option& option, const ordered_json& in_force) {
  ordered_json row = {{"name", option.name},
                      {"keys", ordered_json::array({option.name})},
                      {"group", GroupName(option.group)},
                      {"type", TypeName(option.type)},
                      {"default", TextOrNull(option.default_value)},
                      {"npu_run_config_default", TextOrNull(option.npu_run_config_default)},
                      {"legal", LegalText(option)},
                      {"environment", nullptr},
                      {"conflicts", ordered_json::array()},
                      {"needs", nullptr},
                      {"standing", StandingText(option)},
                      {"meaning", option.meaning}};
  for (const std::string_view key : option.other_keys) row["keys"].push_back(key);
  if (option.environment) row["environment"] = option.environment->name;
  for (const config::Conflict& conflict : option.conflicts) {
    row["conflicts"].push_back({{"option", conflict.other}, {"why", conflict.why}});
  }
  if (option.condition) {
    row["needs"] = StrCat(option.condition->other, "=", option.condition->value);
  }
  row["in_force"] = in_force.value(std::string(option.name), ordered_json());
  return row;
}

Status ListOptions(const Arguments& arguments) {
  PLIMSOLL_ASSIGN(const EffectiveConfig effective, ResolveArguments(arguments.config));
  if (!arguments.json) {
    std::cout << EffectiveConfigText(effective);
    return {};
  }
  const ordered_json in_force = ordered_json::parse(EffectiveConfigJson(effective));
  ordered_json list = ordered_json::array();
  for (const Option& option : config::OptionTable()) list.push_back(RowJson(option, in_force));
  std::cout << list.dump(2) << "\n";
  return {};
}

// The row is shown even where the settings or the environment are refused: who asks may be about to
// mend them. The error is the outcome all the same.
Status ShowOption(const Arguments& arguments) {
  PLIMSOLL_ASSIGN(const Option* option, config::LookUpOption(arguments.name, "argument"));
  const auto effective = ResolveArguments(arguments.config);
  if (arguments.json) {
    const ordered_json in_force = effective.ok()
                                      ? ordered_json::parse(EffectiveConfigJson(*effective))
                                      : ordered_json::object();
    std::cout << RowJson(*option, in_force).dump(2) << "\n";
  } else {
    std::cout << InFull(*option, effective.ok() ? &*effective : nullptr);
  }
  return effective.status();
}

}  // namespace

void AddOptions(CLI::App& program, Action& action) {
  auto arguments = std::make_shared<Arguments>();
  CommandOptions command(program, "options", "List the options of a session and what is in force",
                         kOptionsExamples);
  command.Text("name", arguments->name, "An option, by any of its keys");
  AddConfigArguments(command, arguments->config);
  command.Json(arguments->json);
  WhenChosen(command, action, [arguments] {
    return arguments->name.empty() ? ListOptions(*arguments) : ShowOption(*arguments);
  });
}

}  // namespace plimsoll::cli
