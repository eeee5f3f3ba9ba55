#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/options/option.h"
#include "config/run_config.h"
#include "config/settings.h"
#include "plimsoll/base/status.h"

namespace plimsoll::config {

// The value of one option that is in force, and why.
struct EffectiveValue {
  enum class Source { kDefault, kEnvironment, kSetting };

  const Option* option = nullptr;
  std::string key;    // by which it was given: a key, a variable; the name where nobody gave it
  std::string value;  // empty: not set
  std::string given;  // what was written, where that is another form of the value ("1" for 2)
  Source source = Source::kDefault;
  std::string origin;                     // "default", "environment", or the origin of the setting
  std::optional<OptionLevel> level = {};  // for which it was given, where somebody said so
  bool idle = false;  // given, but its condition does not hold, or it has no effect here
  bool given_by_user() const { return source != Source::kDefault; }
};

// A resolved configuration with the reason for each value, in the order of the option table.
struct EffectiveConfig {
  RunConfig config;
  std::vector<EffectiveValue> values;
  std::vector<std::string> notes;  // what the user should know of it; logged once in a process

  const EffectiveValue& of(std::string_view option_name) const;
  // Whether somebody gave the option, and what is in force, as text.
  bool Given(std::string_view option_name) const { return of(option_name).given_by_user(); }
  std::string_view Value(std::string_view option_name) const { return of(option_name).value; }
};

// As Resolve in settings.h, with the reasons.
Result<EffectiveConfig> MakeEffectiveConfig(const Settings& settings,
                                            const Environment& environment);

// A table with a line for each option: name, value, where that comes from, what is legal.
std::string EffectiveConfigText(const EffectiveConfig& effective, bool with_legal_values = true);

// {"static_memory_policy": {"value": "2", "given": "1", "key": ..., "origin": "--set"}, ...}; a
// value that is not set is null.
std::string EffectiveConfigJson(const EffectiveConfig& effective);

// "default", "environment ASCEND_DEVICE_ID", "--set, ge.exec.staticMemoryPolicy".
std::string OriginText(const EffectiveValue& value);

// "2, given as 1", "not set", "dynamic_execute, without effect".
std::string ValueText(const EffectiveValue& value);

}  // namespace plimsoll::config
