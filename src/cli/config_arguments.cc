#include "cli/config_arguments.h"

#include "cli/options.h"
#include "config/config_file.h"

namespace plimsoll::cli {

void AddConfigArguments(CommandOptions& command, ConfigArguments& arguments) {
  command.Repeated("--set", arguments.settings,
                   "An option as key=value; repeatable; plimsoll options lists them");
  command.Repeated("--config", arguments.files, "Options from a JSON or TOML file; repeatable");
  command.Repeated("--policy", arguments.policies, "Short for --set static_memory_policy=N");
}

Result<config::EffectiveConfig> ResolveArguments(const ConfigArguments& arguments) {
  using Layer = config::Origin::Layer;
  config::Settings settings;
  for (const std::string& file : arguments.files) {
    PLIMSOLL_ASSIGN(const config::Settings from_file, config::ReadConfigFile(file));
    settings.Append(from_file);
  }
  for (const std::string& text : arguments.settings) {
    PLIMSOLL_TRY(settings.AddText(text, {Layer::kCommandLine, "--set"}));
  }
  for (const std::string& policy : arguments.policies) {
    settings.Add({"static_memory_policy", policy, {Layer::kCommandLine, "--policy"}});
  }
  return config::MakeEffectiveConfig(settings, config::ProcessEnvironment());
}

}  // namespace plimsoll::cli
