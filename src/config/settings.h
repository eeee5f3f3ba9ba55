#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/mistakes.h"
#include "config/options/option_value.h"
#include "config/run_config.h"
#include "plimsoll/base/status.h"

namespace plimsoll::config {

// Who gave a setting. Of two values for one option that of the narrower level holds: a graph's over
// its session's over the global one; on one level the later layer's; within one layer two different
// values are an error.
struct Origin {
  enum class Layer { kFile, kCommandLine, kProgram };
  Layer layer = Layer::kProgram;
  std::string text = "program";           // for messages: "--set", "run.toml:3:1"
  std::optional<OptionLevel> level = {};  // none: the session's, or wider where the option is
};

struct Setting {
  std::string key;
  SettingValue value;
  Origin origin;
};

// Looks a variable up; nothing where it is unset.
using Environment = std::function<std::optional<std::string>(std::string_view name)>;

// The variables of this process, read at each call.
Environment ProcessEnvironment();

// Settings gathered from several places, not yet checked. A value; not thread-safe.
//
//   Settings settings;
//   settings.Set("static_memory_policy", 2);
//   PLIMSOLL_ASSIGN(const RunConfig config, Resolve(settings, ProcessEnvironment()));
class Settings {
 public:
  // Inside an explicit NPURunConfig that object's own defaults hold: training, for one.
  static Settings NpuRunConfig();

  void Set(std::string key, SettingValue value) { Add({std::move(key), std::move(value), {}}); }
  void Add(Setting setting) { settings_.push_back(std::move(setting)); }
  void Append(const Settings& others);
  // Something already found to be wrong, told by Resolve together with all else.
  void AddMistake(Error mistake) { mistakes_.Add(std::move(mistake)); }
  // "key=value", as on a command line. Fails (config.setting) where there is no key or no '='.
  Status AddText(std::string_view text, Origin origin);
  void UseNpuRunConfigDefaults() { npu_run_config_ = true; }

  const std::vector<Setting>& all() const { return settings_; }
  const Mistakes& mistakes() const { return mistakes_; }
  bool npu_run_config() const { return npu_run_config_; }

 private:
  std::vector<Setting> settings_;
  Mistakes mistakes_;
  bool npu_run_config_ = false;
};

// Checks everything, settles what holds (narrower level over wider, later layer over earlier layer
// over environment over default) and refuses conflicts. Fails with the code config.unknown,
// config.type, config.value, config.level, config.twice, config.conflict or one of files, naming
// key, value and origin; several mistakes are told at once (config.mistakes). Logs a note, once for
// each option and process, where a given option is deprecated, not supported or has no effect.
Result<RunConfig> Resolve(const Settings& settings, const Environment& environment);

}  // namespace plimsoll::config
