#include "cli/commands/config_arguments.h"

#include <algorithm>

#include "cli/commands/options.h"
#include "config/files/config_file.h"
#include "config/options/option_table.h"
#include "plimsoll/base/text.h"

namespace plimsoll::cli {
namespace {

constexpr const char* kRunMode = "graph_run_mode";

}  // namespace

void AddConfigArguments(CommandOptions& command, ConfigArguments& arguments) {
  command.Repeated("--set", arguments.settings,
                   "An option as key=value; repeatable; plimsoll options lists them");
  command.Repeated("--config", arguments.files, "Options from a JSON or TOML file; repeatable");
  AddShort(command, arguments, "--policy", "static_memory_policy",
           "Short for --set static_memory_policy=N: 0, 2, 3 or 4");
}

void AddShort(CommandOptions& command, ConfigArguments& arguments, const std::string& argument,
              const std::string& option, const std::string& help) {
  arguments.shorts.push_back({argument, option, {}});
  command.Repeated(argument, arguments.shorts.back().values, help);
}

Result<std::optional<EveryValue>> TakeEveryValue(ConfigArguments& arguments) {
  std::optional<EveryValue> found;
  for (ConfigArguments::Short& given : arguments.shorts) {
    const config::Option* const option = config::FindOption(given.option);
    if (option == nullptr || std::erase(given.values, kEveryValue) == 0) continue;
    if (found) {
      return Error{.kind = ErrorKind::kUsage,
                   .code = "cli.all",
                   .what = "cannot compare so",
                   .where = StrCat(found->argument, " all, ", given.argument, " all"),
                   .why = "the values of one option can be compared at a time",
                   .remedy = "give one of them a value"};
    }
    found = EveryValue{given.argument, given.option, {}};
    for (const int64_t number : option->legal.numbers) found->values.push_back(StrCat(number));
    for (const std::string_view word : option->legal.words) found->values.emplace_back(word);
    // An option without a list of values says itself what is legal.
    if (found->values.empty()) found->values.emplace_back(kEveryValue);
  }
  return found;
}

ConfigArguments WithValue(ConfigArguments arguments, const EveryValue& option,
                          const std::string& value) {
  for (ConfigArguments::Short& given : arguments.shorts) {
    if (given.argument == option.argument) given.values.push_back(value);
  }
  return arguments;
}

Result<config::EffectiveConfig> ResolveArguments(const ConfigArguments& arguments) {
  using Layer = config::Origin::Layer;
  config::Settings settings;
  for (const std::string& file : arguments.files) {
    if (const auto from_file = config::ReadConfigFile(file); from_file.ok()) {
      settings.Append(*from_file);
    } else {
      settings.AddMistake(from_file.error());
    }
  }
  for (const std::string& text : arguments.settings) {
    if (const Status added = settings.AddText(text, {Layer::kCommandLine, "--set"}); !added.ok()) {
      settings.AddMistake(added.error());
    }
  }
  for (const ConfigArguments::Short& given : arguments.shorts) {
    for (const std::string& value : given.values) {
      settings.Add({given.option, value, {Layer::kCommandLine, given.argument}});
    }
  }
  const bool names_mode = std::ranges::any_of(
      settings.all(), [](const config::Setting& setting) { return setting.key == kRunMode; });
  if (arguments.trains && !names_mode) {
    settings.Add({kRunMode, 1, {Layer::kCommandLine, "this command trains"}});
  }
  return config::MakeEffectiveConfig(settings, config::ProcessEnvironment());
}

}  // namespace plimsoll::cli
