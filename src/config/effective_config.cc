#include "config/effective_config.h"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "config/derived_settings.h"
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
  if (!value.given_by_user() && value.value.empty()) return StrCat(value.key, " not set");
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

// The level for which a setting counts: a session's unless somebody said otherwise, or wider where
// the option is.
OptionLevel LevelOf(const Option& option, const Origin& origin) {
  return origin.level.value_or(std::min(option.level, OptionLevel::kSession));
}

std::string NamedPlace(const Setting& setting) {
  return StrCat(setting.key, " (", setting.origin.text, ")");
}

// The settings by option, and what is wrong with them.
class GivenValues {
 public:
  explicit GivenValues(Mistakes& mistakes) : mistakes_(mistakes) {}

  void Add(const Setting& setting) {
    const auto option = LookUpOption(setting.key, setting.origin.text);
    if (!option.ok()) {
      mistakes_.Add(option.error());
    } else if (const bool none = std::holds_alternative<std::monostate>(setting.value);
               !none || !(*option)->default_value.empty()) {
      Add(**option, setting);
    }
  }

  // Null where none was given, or none that is legal. The narrowest level's, there the latest
  // layer's.
  const Candidate* Find(const Option& option) const {
    const auto given = by_option_.find(option.name);
    return given == by_option_.end() ? nullptr : &given->second.rbegin()->second;
  }

  // Whether a value of the option was refused, so that nothing can be said of what goes with it.
  bool Refused(std::string_view name) const { return refused_.contains(name); }

  std::optional<Candidate> Check(const Option& option, const Setting& setting, Source source) {
    auto checked = CheckValue(option, setting.value, NamedPlace(setting), mistakes_);
    if (!checked) {
      refused_.insert(option.name);
      return {};
    }
    return Candidate{&option,        setting.key, setting.value, std::move(*checked),
                     setting.origin, source};
  }

 private:
  using Place = std::pair<OptionLevel, Origin::Layer>;

  void Add(const Option& option, const Setting& setting) {
    const OptionLevel level = LevelOf(option, setting.origin);
    if (level > option.level) {
      refused_.insert(option.name);
      mistakes_.Add({ErrorKind::kUsage, "config.level", "option refused", NamedPlace(setting),
                     StrCat("it cannot be given for a ", LevelName(level), " alone"),
                     StrCat("its level is ", LevelName(option.level))});
      return;
    }
    if (option.type == OptionType::kObject && setting.key != option.name) {
      AddField(option, setting, {level, setting.origin.layer});
      return;
    }
    const auto candidate = Check(option, setting, Source::kSetting);
    if (!candidate) return;
    const auto [place, first] =
        by_option_[option.name].try_emplace({level, setting.origin.layer}, *candidate);
    if (first || place->second.checked.text == candidate->checked.text) return;
    refused_.insert(option.name);
    mistakes_.Add(ConflictError("config.twice", Shown(place->second), Shown(*candidate),
                                "one option has two values", "keep one of them"));
  }

  // A field of an object that takes any: listed as it is.
  void AddField(const Option& option, const Setting& setting, Place place) {
    const std::string field =
        StrCat(setting.key.substr(option.name.size() + 1), "=", PlainValue(setting.value));
    Candidate fields{&option, std::string(option.name), {}, {}, setting.origin, Source::kSetting};
    const auto at = by_option_[option.name].try_emplace(place, std::move(fields)).first;
    std::string& text = at->second.checked.text;
    text += StrCat(text.empty() ? "" : ", ", field);
  }

  Mistakes& mistakes_;
  std::map<std::string_view, std::map<Place, Candidate>> by_option_;
  std::set<std::string_view> refused_;
};

// The environment's value for an option that has a variable. Nothing where it is unset, or where a
// setting rules; a mistake where the two exclude each other.
std::optional<Candidate> FromEnvironment(const Option& option, const Candidate* setting,
                                         const Environment& environment, GivenValues& given,
                                         Mistakes& mistakes) {
  if (!option.environment) return {};
  const std::optional<std::string> text = environment(option.environment->name);
  if (!text || text->empty()) return {};
  const Setting variable{std::string(option.environment->name), *text, {.text = "environment"}};
  if (setting != nullptr && option.environment->excludes_option) {
    mistakes.Add(ConflictError(
        "config.conflict", Shown(variable.key, PlainValue(variable.value), variable.origin.text),
        Shown(*setting), "both set the same thing, and neither wins",
        StrCat("unset ", variable.key, " and keep ", setting->key)));
  }
  if (setting != nullptr) return {};
  return given.Check(option, variable, Source::kEnvironment);
}

// A row's default passes the same check as a user's value; a row without one is not set.
Candidate FromDefault(const Option& option, bool npu_run_config) {
  const std::string_view text = npu_run_config && !option.npu_run_config_default.empty()
                                    ? option.npu_run_config_default
                                    : option.default_value;
  const Setting setting{std::string(option.name), std::string(text), {.text = "default"}};
  CheckedValue checked;
  if (!text.empty()) {
    const auto legal = CheckValue(option, setting.value, option.name);
    assert(legal.ok());
    checked = *legal;
  }
  return Candidate{&option, setting.key, setting.value, checked, setting.origin, Source::kDefault};
}

EffectiveValue Describe(const Candidate& candidate) {
  EffectiveValue value;
  value.option = candidate.option;
  value.key = candidate.key;
  value.value = candidate.checked.text;
  value.source = candidate.source;
  value.origin = candidate.origin.text;
  value.level = candidate.origin.level;
  const bool other_form = value.option->type == OptionType::kNumber && value.given_by_user() &&
                          PlainValue(candidate.given) != value.value;
  if (other_form) value.given = PlainValue(candidate.given);
  return value;
}

void FindConflicts(const EffectiveConfig& effective, const GivenValues& given, Mistakes& mistakes) {
  for (const EffectiveValue& value : effective.values) {
    for (const Conflict& conflict : value.option->conflicts) {
      if (given.Refused(value.option->name) || given.Refused(conflict.other)) continue;
      if (!conflict.holds(effective)) continue;
      mistakes.Add(ConflictError("config.conflict", Shown(value),
                                 Shown(effective.of(conflict.other)), conflict.why,
                                 std::string(conflict.remedy)));
    }
  }
}

// Notes what a given option does not do, and marks the value where that is everything.
void Advise(EffectiveConfig& effective, EffectiveValue& value) {
  const Option& option = *value.option;
  const auto note = [&](const auto&... parts) {
    effective.notes.push_back(StrCat(option.name, parts...));
  };
  if (!option.deprecated.empty()) note(" is deprecated: ", option.deprecated);
  if (option.standing.kind == Standing::Kind::kNoEffect) {
    note(" has no effect: ", option.standing.reason);
  } else if (option.standing.kind == Standing::Kind::kNotSupported) {
    note(" is not supported: ", option.standing.reason);
  } else if (value.idle) {
    note(" has no effect: ", option.condition->other, " is not ", option.condition->value);
  }
  for (const Advice& advice : option.advice) {
    if (!advice.holds(effective)) continue;
    value.idle = value.idle || advice.without_effect;
    note(advice.without_effect ? " has no effect: " : ": ", advice.text);
  }
}

void SayNotes(EffectiveConfig& effective) {
  for (EffectiveValue& value : effective.values) {
    if (!value.given_by_user()) continue;
    const Option& option = *value.option;
    if (value.source == Source::kEnvironment && !option.environment->deprecation.empty()) {
      effective.notes.emplace_back(option.environment->deprecation);
    }
    Advise(effective, value);
  }
  for (const std::string& note : effective.notes) NoteOnce(note);
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
  Mistakes mistakes = settings.mistakes();
  GivenValues given(mistakes);
  for (const Setting& setting : settings.all()) given.Add(setting);
  std::vector<Candidate> ruling;  // one for each option, in the order of the table
  for (const Option& option : OptionTable()) {
    const Candidate* setting = given.Find(option);
    auto variable = FromEnvironment(option, setting, environment, given, mistakes);
    ruling.push_back(
        setting ? *setting
                : std::move(variable).value_or(FromDefault(option, settings.npu_run_config())));
  }
  EffectiveConfig effective;
  std::ranges::transform(ruling, std::back_inserter(effective.values), Describe);
  for (size_t i = 0; i < ruling.size(); ++i) {
    EffectiveValue& value = effective.values[i];
    const Option& option = *value.option;
    const bool holds =
        !option.condition || effective.of(option.condition->other).value == option.condition->value;
    value.idle = value.given_by_user() && (!holds || !option.standing.acts());
    if (holds && option.apply && !value.value.empty()) {
      option.apply(ruling[i].checked.value, effective.config);
    }
  }
  FindConflicts(effective, given, mistakes);
  PLIMSOLL_TRY(mistakes.ToStatus());
  DeriveSettings(environment, settings.npu_run_config(), effective);
  SayNotes(effective);
  return effective;
}

}  // namespace plimsoll::config
