#include "config/settings.h"

#include <cstdlib>

#include "config/effective_config.h"
#include "plimsoll/base/text.h"

namespace plimsoll::config {

Environment ProcessEnvironment() {
  return [](std::string_view name) -> std::optional<std::string> {
    const char* value = std::getenv(std::string(name).c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  };
}

Settings Settings::NpuRunConfig() {
  Settings settings;
  settings.UseNpuRunConfigDefaults();
  return settings;
}

Status Settings::AddText(std::string_view text, Origin origin) {
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    return Error{ErrorKind::kUsage,
                 "config.setting",
                 "setting not understood",
                 origin.text,
                 StrCat(ShownValue(std::string(text)), equals == 0 ? " has no key" : " has no '='"),
                 "write key=value"};
  }
  Add({std::string(text.substr(0, equals)), std::string(text.substr(equals + 1)),
       std::move(origin)});
  return {};
}

void Settings::Append(const Settings& others) {
  settings_.insert(settings_.end(), others.settings_.begin(), others.settings_.end());
  mistakes_.Add(others.mistakes_);
  npu_run_config_ = npu_run_config_ || others.npu_run_config_;
}

Result<RunConfig> Resolve(const Settings& settings, const Environment& environment) {
  PLIMSOLL_ASSIGN(EffectiveConfig effective, MakeEffectiveConfig(settings, environment));
  return std::move(effective.config);
}

}  // namespace plimsoll::config
