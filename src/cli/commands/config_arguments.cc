#include "cli/commands/config_arguments.h"

#include <algorithm>

#include "cli/commands/options.h"
#include "config/files/config_file.h"

namespace plimsoll::cli {
namespace {

constexpr const char* kRunMode = "graph_run_mode";

}  // namespace

void AddConfigArguments(CommandOptions& command, ConfigArguments& arguments) {
  command.Repeated("--set", arguments.settings,
                   "An option as key=value; repeatable; plimsoll options lists them");
  command.Repeated("--config", arguments.files, "Options from a JSON or TOML file; repeatable");
  AddShort(command, arguments, "--policy", "static_memory_policy",
           "Short for --set static_memory_policy=N");
}

void AddShort(CommandOptions& command, ConfigArguments& arguments, const std::string& argument,
              const std::string& option, const std::string& help) {
  arguments.shorts.push_back({argument, option, {}});
  command.Repeated(argument, arguments.shorts.back().values, help);
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
