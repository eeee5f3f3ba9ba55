#include "config/effective_config.h"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "config/options/option_table.h"
#include "plimsoll/base/log.h"
#include "plimsoll/base/text.h"

namespace plimsoll::config {
namespace {

using Source = EffectiveValue::Source;

// One value of an option, checked, and who gave it.
struct Candidate {
  const Option* option = nullptr;
  std::string key;
  SettingValue given;
  CheckedValue checked;
  Origin origin;
  Source source = Source::kSetting;
};

// "static_memory_policy=2 (--set)"
std::string Shown(const std::string& key, const std::string& value, const std::string& origin) {
  return StrCat(key, "=", value, " (", origin, ")");
}

std::string Shown(const EffectiveValue& value) {
  return Shown(value.key, value.given.empty() ? value.value : value.given, value.origin);
}

std::string Shown(const Candidate& candidate) {
  return Shown(candidate.key, PlainValue(candidate.given), candidate.origin.text);
}

Error ConflictError(std::string code, const std::string& first, const std::string& second,
                    std::string_view why, std::string remedy) {
  return {ErrorKind::kUsage, std::move(code),  "options conflict", StrCat(first, " and ", second),
          std::string(why),  std::move(remedy)};
}

// Sessions are made many times in a process; what their options say to the user is said once.
void NoteOnce(const std::string& note) {
  static std::mutex mutex;
  static std::set<std::string> said;
  {
    const std::lock_guard lock(mutex);
    if (!said.insert(note).second) return;
  }
  Log(LogLevel::kWarning, note);
}

Result<Candidate> CheckCandidate(const Option& option, const Setting& setting, Source source) {
  PLIMSOLL_ASSIGN(
      CheckedValue checked,
      CheckValue(option, setting.value, StrCat(setting.key, " (", setting.origin.text, ")")));
  return Candidate{&option, setting.key, setting.value, std::move(checked), setting.origin, source};
}

// The settings by option, the later layer's where there are several.
class GivenValues {
 public:
  Status Add(const Setting& setting) {
    PLIMSOLL_ASSIGN(const Option* option, LookUpOption(setting.key, setting.origin.text));
    PLIMSOLL_ASSIGN(Candidate candidate, CheckCandidate(*option, setting, Source::kSetting));
    auto& layers = by_option_[option->name];
    const auto [place, first] = layers.try_emplace(setting.origin.layer, candidate);
    if (first || place->second.checked.text == candidate.checked.text) return {};
    return ConflictError("config.twice", Shown(place->second), Shown(candidate),
                         "one option has two values", "keep one of them");
  }

  const Candidate* Find(const Option& option) const {
    const auto layers = by_option_.find(option.name);
    return layers == by_option_.end() ? nullptr : &layers->second.rbegin()->second;
  }

 private:
  std::map<std::string_view, std::map<Origin::Layer, Candidate>> by_option_;
};

// The environment's value for an option that has a variable. Nothing where it is unset, or where a
// setting rules; an error where the two exclude each other.
Result<std::optional<Candidate>> FromEnvironment(const Option& option, const Candidate* setting,
                                                 const Environment& environment) {
  std::optional<Candidate> none;
  if (!option.environment) return none;
  const std::optional<std::string> text = environment(option.environment->name);
  if (!text || text->empty()) return none;
  const Setting variable{std::string(option.environment->name), *text, {.text = "environment"}};
  if (setting != nullptr && option.environment->excludes_option) {
    return ConflictError("config.conflict",
                         Shown(variable.key, PlainValue(variable.value), variable.origin.text),
                         Shown(*setting), "both set the same thing, and neither wins",
                         StrCat("unset ", variable.key, " and keep ", setting->key));
  }
  if (setting != nullptr) return none;
  PLIMSOLL_ASSIGN(Candidate candidate, CheckCandidate(option, variable, Source::kEnvironment));
  return std::optional(std::move(candidate));
}

// A row's default passes the same check as a user's value; a row without one is not set.
Result<Candidate> FromDefault(const Option& option, bool npu_run_config) {
  const std::string_view text = npu_run_config && !option.npu_run_config_default.empty()
                                    ? option.npu_run_config_default
                                    : option.default_value;
  const Setting setting{std::string(option.name), std::string(text), {.text = "default"}};
  if (!text.empty()) return CheckCandidate(option, setting, Source::kDefault);
  return Candidate{&option, setting.key, {}, {}, setting.origin, Source::kDefault};
}

EffectiveValue Describe(const Candidate& candidate) {
  EffectiveValue value;
  value.option = candidate.option;
  value.key = candidate.key;
  value.value = candidate.checked.text;
  value.source = candidate.source;
  value.origin = candidate.origin.text;
  const bool older_form = value.option->type == OptionType::kNumber &&
                          candidate.source != Source::kDefault &&
                          PlainValue(candidate.given) != value.value;
  if (older_form) value.given = PlainValue(candidate.given);
  return value;
}

// Exactly one value for each option, in the order of the table.
Result<std::vector<Candidate>> RulingValues(const Settings& settings,
                                            const Environment& environment) {
  GivenValues given;
  for (const Setting& setting : settings.all()) PLIMSOLL_TRY(given.Add(setting));
  std::vector<Candidate> ruling;
  for (const Option& option : OptionTable()) {
    const Candidate* setting = given.Find(option);
    PLIMSOLL_ASSIGN(std::optional<Candidate> variable,
                    FromEnvironment(option, setting, environment));
    PLIMSOLL_ASSIGN(Candidate by_default, FromDefault(option, settings.npu_run_config()));
    ruling.push_back(setting ? *setting : std::move(variable).value_or(std::move(by_default)));
  }
  return ruling;
}

Status RefuseConflicts(const EffectiveConfig& effective) {
  for (const EffectiveValue& value : effective.values) {
    for (const Conflict& conflict : value.option->conflicts) {
      if (!conflict.holds(effective.config)) continue;
      const EffectiveValue& other = effective.of(conflict.other);
      return ConflictError("config.conflict", Shown(value), Shown(other), conflict.why,
                           std::string(conflict.remedy));
    }
  }
  return {};
}

void SayNotes(const EffectiveConfig& effective) {
  for (const EffectiveValue& value : effective.values) {
    if (value.source == Source::kDefault) continue;
    const Option& option = *value.option;
    if (value.source == Source::kEnvironment && !option.environment->deprecation.empty()) {
      NoteOnce(std::string(option.environment->deprecation));
    }
    if (option.standing == Standing::kDeprecated) {
      NoteOnce(StrCat(option.name, " is deprecated: ", option.standing_reason));
    }
    if (option.standing == Standing::kNoEffect) {
      NoteOnce(StrCat(option.name, " has no effect: ", option.standing_reason));
    } else if (value.idle) {
      NoteOnce(StrCat(option.name, " has no effect: ", option.condition->other, " is not ",
                      option.condition->value));
    }
  }
}

}  // namespace

const EffectiveValue& EffectiveConfig::of(std::string_view option_name) const {
  const auto found = std::ranges::find_if(
      values, [&](const EffectiveValue& value) { return value.option->name == option_name; });
  assert(found != values.end());
  return *found;
}

Result<EffectiveConfig> MakeEffectiveConfig(const Settings& settings,
                                            const Environment& environment) {
  PLIMSOLL_ASSIGN(const std::vector<Candidate> ruling, RulingValues(settings, environment));
  EffectiveConfig effective;
  std::ranges::transform(ruling, std::back_inserter(effective.values), Describe);
  for (size_t i = 0; i < ruling.size(); ++i) {
    EffectiveValue& value = effective.values[i];
    const Option& option = *value.option;
    const bool holds =
        !option.condition || effective.of(option.condition->other).value == option.condition->value;
    value.idle =
        value.source != Source::kDefault && (!holds || option.standing == Standing::kNoEffect);
    if (holds && option.apply && !value.value.empty()) {
      option.apply(ruling[i].checked.value, effective.config);
    }
  }
  PLIMSOLL_TRY(RefuseConflicts(effective));
  SayNotes(effective);
  return effective;
}

}  // namespace plimsoll::config
